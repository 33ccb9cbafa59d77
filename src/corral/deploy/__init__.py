"""BUILD: steps compare a machine with what is wanted; the engine makes the difference go away."""

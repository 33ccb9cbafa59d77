"""The few kinds of thing a step can want: files, services, packages, or a script's own idea of done."""

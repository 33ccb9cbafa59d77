"""What runs inside a user's job: standard library only, because a job's environment is the user's own."""

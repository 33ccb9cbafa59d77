"""RUN: what people submit, and how none of it is lost."""

"""Training that pays on slow links: runs inside jobs, on the person's own torch."""

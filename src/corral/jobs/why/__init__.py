"""Why a job waits, until when and what would help; or why it ended."""

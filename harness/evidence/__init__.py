"""What a run keeps and how it is summed up: store, summary, known findings, planted bugs."""

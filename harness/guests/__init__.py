"""What a guest is and how each kind is started; `agent/` is the one program inside it."""

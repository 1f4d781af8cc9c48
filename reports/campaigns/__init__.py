"""What a campaign found, as data and in lines."""

"""JUnit and KTAP."""

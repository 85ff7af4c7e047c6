"""Many programs at once, one flat record each: for tables, training loops and files of tasks."""

"""The program that runs in the child process: it imports torch, Triton and the code under test, and reports what happens."""

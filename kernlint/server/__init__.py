"""kernlint for editors (the Language Server Protocol) and for agents (the Model Context Protocol).

Neither server analyses anything itself: every question goes to a worker process (:mod:`kernlint.server.worker`), which may
crash, hang or be ended without the server noticing more than an error.
"""

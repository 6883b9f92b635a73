"""The C++ that leads torch's events to the core, and how it gets built."""

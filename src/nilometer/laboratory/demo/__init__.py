"""`./nilo demo`: a simulated field, continuous questions, and their answers as they come."""

from nilometer.laboratory.demo.run import run_demo

__all__ = ["run_demo"]

"""The paper's form of a site's program: nesC components for TinyOS 2, one per node of a diagram like SNEE's
Fig. 23."""

from nilometer.sensornet.motes.nesc.application import application_of

__all__ = ["application_of"]

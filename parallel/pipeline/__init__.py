"""Pipelines: functions in a row on different ranks, which work on different parts of a batch at the same time."""

from .run import pipeline
from .schedule import Schedule, pipeline_schedule

__all__ = ["Schedule", "pipeline", "pipeline_schedule"]

"""polyad."""
from . import ad, devices, dispatch, dsl
from .dispatch import *
from .dsl import *
from .ad import *
from .dispatch import tree

"""Every exception and warning of the library, so that a reader finds the whole tree on one page.

PolyadError
  MethodError            (TypeError)            no method takes these types
    AmbiguousMethodError                        several do, none is the most specific
  RegistrationError      (TypeError)            a method, rule or type that cannot be registered
  ShapeError             (ValueError)           shapes or axes that do not fit
    AxisError            (IndexError)           an axis that the array does not have; NumPy's AxisError too
  LinAlgError            (ValueError)           a singular matrix and the like; NumPy's LinAlgError too
  DTypeError             (TypeError)            a dtype the operation does not take
  DeviceMismatchError    (ValueError)           arguments on different devices
  StructureError         (ValueError)           nested containers of different structure
  AxisNameError          (NameError)            a mapped axis that is not bound here
  LeakedLayerError       (RuntimeError)         a value used after or outside its transformation
  LaneSplitError         (RuntimeError)         lanes of one `vmap` that cannot be put together again
  ConcreteValueError     (TypeError)            a number was asked of a value that stands for many
  MutationError          (ValueError)           a write that would not do what it does to a NumPy array
  NaNError               (FloatingPointError)   under `debug_nans`, an operation that made a NaN
  MissingRuleError       (NotImplementedError)  an operation without the rule a layer needs
  PromotionError         (TypeError)            types without a common type
  DensifyError           (TypeError)            a structured array would have become dense
PolyadWarning
  DensifyWarning, PerformanceWarning, ReplacedWarning
"""

import types
import typing

import numpy as np


class PolyadError(Exception):
    """Base class of the library's exceptions."""


class MethodError(PolyadError, TypeError):
    """No method of a generic function takes arguments of these types."""


class AmbiguousMethodError(MethodError):
    """Several methods take these types and none is the most specific."""


class RegistrationError(PolyadError, TypeError):
    """A method, rule, kernel or array type that cannot be registered."""


class ShapeError(PolyadError, ValueError):
    """Shapes or axes that do not fit the operation."""


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis that the array does not have; also an IndexError, and NumPy's error of that name."""


class LinAlgError(PolyadError, np.linalg.LinAlgError):
    """A matrix for which there is no answer (singular, not positive definite, no convergence); NumPy's LinAlgError too."""


class DTypeError(PolyadError, TypeError):
    """A dtype the operation does not take."""


class DeviceMismatchError(PolyadError, ValueError):
    """Arguments of one call lie on different devices."""


class StructureError(PolyadError, ValueError):
    """Nested containers whose structures differ."""


class AxisNameError(PolyadError, NameError):
    """A named axis that no enclosing `vmap` or `pmap` binds."""


class LeakedLayerError(PolyadError, RuntimeError):
    """A value of a transformation was used after it ended, or by another one."""


class LaneSplitError(PolyadError, RuntimeError):
    """The lanes of a `vmap` took different paths whose results cannot be merged."""


class ConcreteValueError(PolyadError, TypeError):
    """Python asked for one number of a value that a transformation follows.

    Where code catches it without naming it (`except TypeError`) and goes on, it is raised again at the transformation's end.
    """


class SparsityError(PolyadError, ValueError):
    """A sparsity pattern that lacks entries of the matrix, or is no pattern of such a matrix."""


class MutationError(PolyadError, ValueError):
    """A write in place that would not do what it does to a NumPy array, or a buffer that changed after it was used."""


class NaNError(PolyadError, FloatingPointError):
    """An operation made a NaN (or an infinity) of numbers that were none; raised under `debug_nans`."""


class MissingRuleError(PolyadError, NotImplementedError):
    """An operation has no rule for what a transformation needs."""


class PromotionError(PolyadError, TypeError):
    """Types that have no common type."""


class DensifyError(PolyadError, TypeError):
    """A structured array would have become dense where that is forbidden."""


class PolyadWarning(UserWarning):
    """Base class of the library's warnings."""


class DensifyWarning(PolyadWarning):
    """A structured array became dense because an operation has no method for it."""


class ConventionError(PolyadError, ArithmeticError):
    """A second derivative came through a slope that is a convention, under `debug_conventions`."""


class ConventionWarning(PolyadWarning):
    """A second derivative came through a slope that is a convention: it may not be that of a smooth whole."""


class PerformanceWarning(PolyadWarning):
    """Right, but much slower than another way of writing it."""


class ReplacedWarning(PolyadWarning):
    """A method, rule or conversion took the place of another module's, for the whole process."""


def type_name(cls):
    """Short name of a class or union: builtins, NumPy's and ours bare, others with their module."""
    if typing.get_origin(cls) in (typing.Union, types.UnionType):
        return " | ".join(map(type_name, typing.get_args(cls)))
    module = getattr(cls, "__module__", "builtins")
    root = module.partition(".")[0]
    name = getattr(cls, "__qualname__", repr(cls))
    return name if root in ("builtins", "numpy", "polyad", "__main__") else f"{module}.{name}"


def describe(x):
    """Type, dtype and shape of a value, never its numbers (an array may lie on a device)."""
    name = type_name(type(x))
    try:
        return name if isinstance(x, type) else f"{name}({x.dtype}{list(x.shape)})"
    except Exception:  # no array, or one whose attributes fail; a message must not
        return name

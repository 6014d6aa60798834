"""Steps that all ranks take together: an error of one of them is one of all."""

import pytest

from polyad.parallel.together import on_all_ranks


def test_one_rank():
    with pytest.raises(OSError, match="gone"), on_all_ranks("a test"):
        raise OSError("gone")
    with on_all_ranks("a test"):
        pass


def test_several_ranks(mpirun):
    script = """
    import polyad as pa
    from polyad.parallel.together import on_all_ranks
    me = pa.world().rank
    with on_all_ranks("a test"):
        pass
    for failing in ([0], [1], [0, 1]):
        try:
            with on_all_ranks("a test"):
                if me in failing:
                    raise OSError(f"gone on {me}")
        except OSError as error:
            assert me in failing and str(error) == f"gone on {me}"
        except pa.CollectiveError as error:
            told = f"a test: rank {failing[0]} raised OSError: gone on {failing[0]}"
            assert me not in failing and told in str(error), str(error)
        else:
            raise AssertionError("no error")
    """
    for ranks in (2, 3):
        mpirun(script, ranks)

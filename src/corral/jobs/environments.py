"""What `--env` may name, told apart by looking, and how a job gets into it."""

from __future__ import annotations

import shlex

from corral.errors import InputError
from corral.jobs.request import Environment

_IMAGE_ENDINGS = (".sqsh", ".sif")
_IMAGE_PREFIXES = ("docker://", "oras://", "library://")

# Prints `venv PATH`, `conda PATH`, or nothing for a folder that is neither.
_LOOK = """
look() {
  case $1 in /*) where=$1;; *) where=$HOME/$1;; esac
  if [ -e "$where/pyvenv.cfg" ]; then echo "venv $where"; return; fi
  if [ -d "$where/conda-meta" ]; then echo "conda $where"; return; fi
  [ -e "$HOME/.conda/environments.txt" ] || return
  while IFS= read -r where; do
    case $where in */"$1") [ ! -d "$where/conda-meta" ] || { echo "conda $where"; return; };; esac
  done < "$HOME/.conda/environments.txt"
}
look """


def is_image(name: str) -> bool:
    return name.startswith(_IMAGE_PREFIXES) or name.endswith(_IMAGE_ENDINGS)


def look_script(name: str) -> str:
    """A script that finds out on the cluster what a name stands for."""
    return "" if not name or is_image(name) else _LOOK + shlex.quote(name)


def found(name: str, answer: str) -> Environment:
    """The environment, by what `look_script` printed."""
    if not name:
        return Environment()
    if is_image(name):
        return Environment("container", name)
    kind, _, where = answer.strip().partition(" ")
    if not where:
        raise InputError(
            f"--env {name}: there is no virtual environment or conda environment of that name on the cluster. "
            "Write the path of one that all nodes see, the name of a conda environment, or an image "
            "(docker://…, .sqsh, .sif)"
        )
    return Environment(kind, where)


def python(environment: Environment) -> str:
    """The name of its Python: only the system's own may lack a plain `python`."""
    return "python3" if environment.kind == "system" else "python"


def enter(environment: Environment) -> list[str]:
    """Lines of the batch script that get into the environment; a container is entered by `launcher` alone."""
    where = shlex.quote(environment.where)
    if environment.kind == "venv":
        return [f"export VIRTUAL_ENV={where}", 'export PATH="$VIRTUAL_ENV/bin:$PATH"']
    if environment.kind == "conda":
        return [
            f"export CONDA_PREFIX={where}",
            'export PATH="$CONDA_PREFIX/bin:$PATH"',
            'for file in "$CONDA_PREFIX"/etc/conda/activate.d/*.sh; do [ ! -e "$file" ] || . "$file"; done',
        ]
    if environment.kind == "container":
        return [f"image={where}", *_CONTAINER]
    return []


# pyxis makes it an option of srun; without it apptainer, or its older name, starts the container on each node.
_CONTAINER = [
    "in_srun=() in_node=()",
    'binds="$job,/opt/corral"',
    "if srun --help | grep -q -- --container-image; then",
    '  in_srun=(--container-image="${image#docker://}" --container-workdir="$unit/work"',
    '    --container-mounts="$job:$job,/opt/corral:/opt/corral")',
    "elif runtime=$(command -v apptainer || command -v singularity); then",
    '  in_node=("$runtime" exec --nv --bind "$binds" --pwd "$unit/work" "$image")',
    "else",
    '  echo "corral: $HOSTNAME has neither pyxis nor apptainer, so $image cannot be run" >&2; exit 1',
    "fi",
]

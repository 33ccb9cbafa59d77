"""MariaDB on the head: no password, no network, only slurmdbd by unix socket."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.script import Script
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step
from corral.deploy.templates import render

OTHER_DATABASES = (
    "find /var/lib/mysql -mindepth 1 -maxdepth 1 -type d ! -name 'slurm_acct_db' ! -name mysql ! -name sys"
    " ! -name performance_schema ! -name '#*' -printf '%f ' 2>/dev/null"
)
"""Prints the databases that are not ours: an owner who keeps others here must not lose them."""

_CONF = "/etc/mysql/mariadb.conf.d/99-corral.cnf"
# A TLS handshake over a unix socket protects nothing and triples the time of a query.
_LOOK = """
mariadb --skip-ssl -NB -e "
  select 'database' from dual where not exists
    (select 1 from information_schema.schemata where schema_name = 'slurm_acct_db');
  select 'grants' from dual where not exists (select 1 from information_schema.schema_privileges
    where table_schema = 'slurm_acct_db' and grantee = \\"'slurm'@'localhost'\\")"
"""
_ACT = """
mariadb --skip-ssl -e "
  create database if not exists slurm_acct_db;
  create user if not exists slurm@localhost identified via unix_socket;
  grant all on slurm_acct_db.* to slurm@localhost"
"""


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    # Slurm asks for a generous pool on big sites; here the head often computes too.
    buffer_pool_mib = max(64, min(1024, node.memory_mib // 50))
    return [
        *daemon(
            node,
            "mariadb",
            files=[File(_CONF, render(_CONF, buffer_pool_mib=buffer_pool_mib))],
            ready="mariadb --skip-ssl -e 'select 1'",
            shared=f'[ -n "$({OTHER_DATABASES})" ]',
            after=("packages",),
        ),
        Script(
            "accounting database",
            look=_LOOK,
            act=_ACT,
            doing="create the accounting database",
            after=("mariadb",),
        ),
    ]

"""Asks slurmrestd for all jobs, as a user of its newest API would; prints the size of its reply in MB."""

import http.client
import json
import subprocess
from pathlib import Path

from corral.slurm.rest.adapter import adapter_for
from corral.slurm.rest.token import TOKEN_SCRIPT, parse_token

token = parse_token(subprocess.run(["sh", "-c", TOKEN_SCRIPT], capture_output=True, text=True, check=True).stdout)
address = json.loads(Path("/etc/corral/site.json").read_text())["rest"]
connection = http.client.HTTPConnection(address, timeout=120)
connection.request(
    "GET", f"/slurm/{adapter_for(token.slurm_version).API}/jobs", headers={"X-SLURM-USER-TOKEN": token.secret}
)
reply = connection.getresponse()
body = reply.read()
assert reply.status == 200, body[:500]
print(round(len(body) / 1e6, 1))

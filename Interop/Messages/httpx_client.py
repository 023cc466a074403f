"""httpx with the tasks of observe.py."""

import base64
import json
import sys

import h11
import httpx


def perform(client, control, task):
    try:
        response = client.request(task["method"], task["url"])
    except httpx.TimeoutException:
        return {"silent": True}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    body = base64.b64encode(response.content).decode()
    if task["idle"]:
        control.get(task["idle"])
    try:
        following = client.request(task["next"], task["url"] + "next").text
    except Exception:
        following = None
    return {"status": response.status_code, "body": body, "next": following}


print(f"{httpx.__version__} (h11 {h11.__version__}, Python {sys.version.split()[0]})")
with httpx.Client(timeout=2, trust_env=False) as client, httpx.Client(timeout=10, trust_env=False) as control:
    for task in json.load(sys.stdin):
        print(json.dumps(perform(client, control, task)), flush=True)

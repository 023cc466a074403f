"""Chromium without a window, for the scripts that check pages: check-page and check-site.

It speaks WebDriver (https://www.w3.org/TR/webdriver2/) to chromedriver, and needs only Python.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

KEYS = {'enter': '\ue007', 'escape': '\ue00c', 'up': '\ue013', 'down': '\ue015', 'backspace': '\ue003'}


def fail(text):
    print(f'{pathlib.Path(sys.argv[0]).name}: {text}', file=sys.stderr)
    sys.exit(1)


class Browser:
    """A session of Chromium, with the folders of its profile and its screenshots. The first check that fails ends the
    script, and leaves a screenshot."""

    def __init__(self, profile, shots):
        self.shots = shots
        self.process = subprocess.Popen(
            ['chromedriver', '--port=0'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            if 'started successfully on port' in line:
                self.base = f'http://127.0.0.1:{line.split()[-1].rstrip(".")}'
                break
        arguments = ['--headless=new', '--window-size=1400,900', f'--user-data-dir={profile}', '--disable-gpu']
        if os.geteuid() == 0:
            arguments.append('--no-sandbox')
        answer = self.send('POST', '/session', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome', 'goog:chromeOptions': {'args': arguments},
            'goog:loggingPrefs': {'browser': 'ALL'}}}})
        self.session = f'/session/{answer["sessionId"]}'

    def send(self, method, path, body=None):
        request = urllib.request.Request(
            self.base + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={'Content-Type': 'application/json'})
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)['value']
        except urllib.error.HTTPError as error:
            fail(f'{method} {path}: {error.read().decode()[:500]}')

    def command(self, path, body=None, method='POST'):
        return self.send(method, self.session + path, {} if body is None and method == 'POST' else body)

    def run(self, script, *arguments):
        return self.command('/execute/sync', {'script': script, 'args': list(arguments)})

    def open(self, url):
        self.command('/url', {'url': url})

    def press(self, *keys):
        """Presses keys one after another: characters, or names in KEYS."""
        actions = [{'type': kind, 'value': KEYS.get(key, key)} for key in keys for kind in ('keyDown', 'keyUp')]
        self.command('/actions', {'actions': [{'type': 'key', 'id': 'keyboard', 'actions': actions}]})

    def resize(self, width, height):
        self.command('/window/rect', {'width': width, 'height': height})

    def prefer(self, scheme):
        self.protocol('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def protocol(self, command, **parameters):
        """A command of Chromium's DevTools protocol."""
        return self.command('/goog/cdp/execute', {'cmd': command, 'params': parameters})

    def shot(self, name):
        self.shots.mkdir(parents=True, exist_ok=True)
        (self.shots / f'{name}.png').write_bytes(base64.b64decode(self.command('/screenshot', method='GET')))

    def problems(self):
        """The errors and violations in the console since the last time."""
        entries = self.command('/se/log', {'type': 'browser'})
        return [entry['message'] for entry in entries if entry['level'] in ('SEVERE', 'WARNING')]

    def check(self, holds, what):
        if not holds:
            self.shot('failed')
            fail(f'not so: {what}')
        print(f'ok  {what}')

    def wait_for(self, script, what, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return print(f'ok  {what}')
            time.sleep(.05)
        self.check(False, what)

    def end(self):
        try:
            self.command('', method='DELETE')
        finally:
            self.process.terminate()
            self.process.wait()

# SPDX-License-Identifier: Apache-2.0
"""serve - a WSGI application: each request sorts, matches and counts a little."""
import json
import re

WORD = re.compile('([a-z]+)-([0-9]+)')


def turned(match):
    return f'{match[2]}-{match[1]}'


def page(seed):
    counts = {}
    for i in range(300):
        word = WORD.sub(turned, f'word-{(seed * 31 + i * 17) % 97}')
        counts[word] = counts.get(word, 0) + 1
    return json.dumps(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def application(environ, start_response):
    body = page(len(environ['PATH_INFO'])).encode()
    start_response('200 OK', [('Content-Length', str(len(body)))])
    return [body]

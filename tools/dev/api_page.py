"""A hook of mkdocs: the page api.md, made from the headers that programs of others include. Each header opens with a sentence
that says what it is for; its declarations follow as they are, without includes and private parts."""
import pathlib
import re

from mkdocs.structure.files import File

GROUPS = {
    "cotrain::app: the operator inside another program": ["include/cotrain/operator.hpp"],
    "cotrain::net: HTTP/2 client and server": ["src/net/client.hpp", "src/net/server.hpp", "src/net/http.hpp", "src/net/tls/context.hpp"],
    "cotrain::kube: a client of Kubernetes' API server": ["src/kube/client.hpp", "src/kube/request.hpp", "src/kube/watch_stream.hpp", "src/kube/config.hpp"],
    "cotrain::plugins, cotrain::runtime: plugins of your own": ["src/plugins/builtin.hpp", "src/runtime/phases.hpp", "src/runtime/plugin_set.hpp", "src/runtime/info.hpp"],
    "cotrain::base: errors, logs, coroutines": ["src/base/error.hpp", "src/base/log.hpp", "src/base/asio.hpp"],
}


def section(header):
    text = pathlib.Path(header).read_text()
    about, _, rest = text.partition("#pragma once\n")
    rest = re.sub(r"^#include .*\n", "", rest, flags=re.M)
    rest = re.sub(r"^ *private:\n(?:(?!^ *(?:public|protected):|^};).*\n)*", "", rest, flags=re.M)
    name = re.sub(r"^(include|src)/", "", header)
    about = re.sub(r"^// ?", "", about, flags=re.M).strip()
    return f'### {name}\n\n{about}\n\n```cpp\n#include "{name}"\n{re.sub(chr(10) + "{3,}", chr(10) * 2, rest)}```\n'


def on_files(files, config):
    parts = ["# The library\n\nMade from the headers. [Embedding](embedding.md) and [Plugins](plugins.md) have examples, "
             "and so does `examples/library`.\n"]
    parts += [f"## {title}\n\n" + "\n".join(map(section, headers)) for title, headers in GROUPS.items()]
    files.append(File.generated(config, "api.md", content="\n".join(parts)))
    return files

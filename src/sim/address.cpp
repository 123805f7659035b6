// Takes targets of requests apart.
#include "sim/address.hpp"

#include <charconv>
#include <cstddef>
#include <utility>

namespace cotrain::sim {
namespace {

std::optional<std::string> decoded(std::string_view text, bool query) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            unsigned byte = 0;
            if (i + 2 >= text.size()) return std::nullopt;
            const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
            if (error != std::errc{} || end != text.data() + i + 3) return std::nullopt;
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += query && text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

}  // namespace

std::string_view address::get(std::string_view name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<address> read_address(std::string_view target) {
    address out;
    const std::size_t mark = target.find('?');
    std::string_view path = target.substr(0, mark);
    while (!path.empty()) {
        path.remove_prefix(path.front() == '/' ? 1 : 0);
        const std::string_view step = path.substr(0, path.find('/'));
        auto text = decoded(step, false);
        if (!text) return std::nullopt;
        if (!text->empty()) out.steps.push_back(std::move(*text));
        path.remove_prefix(step.size());
    }
    std::string_view query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(pair.size() + (pair.size() < query.size() ? 1 : 0));
        const std::size_t sign = pair.find('=');
        auto name = decoded(pair.substr(0, sign), true);
        auto value = decoded(sign == std::string_view::npos ? std::string_view{} : pair.substr(sign + 1), true);
        if (!name || !value) return std::nullopt;
        out.query.emplace(std::move(*name), std::move(*value));
    }
    return out;
}

std::optional<resource_path> read_resource_path(const address& at) {
    const auto& steps = at.steps;
    resource_path out;
    std::size_t next = 0;
    if (steps.size() >= 3 && steps[0] == "api") {
        next = 1;
    } else if (steps.size() >= 4 && steps[0] == "apis") {
        out.group = steps[1];
        next = 2;
    } else {
        return std::nullopt;
    }
    out.version = steps[next++];
    // A namespace itself is an object: /api/v1/namespaces/x, /api/v1/namespaces/x/status.
    const bool inside = steps[next] == "namespaces" && steps.size() > next + 2 && steps[next + 2] != "status" &&
                        steps[next + 2] != "finalize";
    if (inside) {
        out.ns = steps[next + 1];
        next += 2;
    }
    out.plural = steps[next++];
    if (next < steps.size()) out.name = steps[next++];
    if (next < steps.size()) out.sub_resource = steps[next++];
    if (next < steps.size()) return std::nullopt;
    return out;
}

}  // namespace cotrain::sim

// Reading numProcPerNode.
#include "api/process_count.hpp"

#include <charconv>

namespace cotrain::api {

std::string_view to_string(process_count::form form) {
    switch (form) {
        case process_count::form::automatic: return "auto";
        case process_count::form::cpu: return "cpu";
        case process_count::form::gpu: return "gpu";
        default: return {};
    }
}

process_count decode_process_count(const place& object, std::string_view key) {
    process_count out;
    const place from = object.member(key);
    if (!from) return out;
    if (!from.value().is_string()) {
        object.read(key, out.count);
        out.kind = process_count::form::number;
        return out;
    }
    const std::string_view text = from.value().text();
    out.written_as_text = true;
    for (const auto form : {process_count::form::automatic, process_count::form::cpu, process_count::form::gpu}) {
        if (text != to_string(form)) continue;
        out.kind = form;
        return out;
    }
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out.count);
    if (problem != std::errc() || end != text.data() + text.size()) {
        from.expected("an integer, \"auto\", \"cpu\" or \"gpu\"");
        return {};
    }
    out.kind = process_count::form::number;
    return out;
}

}  // namespace cotrain::api

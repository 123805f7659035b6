// Paths of objects and collections.
#include "kube/resource.hpp"

#include <fmt/format.h>

#include "kube/percent.hpp"

namespace cotrain::kube {

namespace {

// What stands between the parts of a path, and a query after it.
constexpr std::size_t path_room_bytes = 96;

// What the API server itself refuses as a segment, and what no name may hold.
std::string_view fault_of(std::string_view segment) {
    if (segment.empty()) return "is empty";
    if (segment == "." || segment == "..") return "may not be '.' or '..'";
    if (segment.size() > name_bytes_max) return "is longer than 253 bytes";
    for (const char c : segment) {
        if (c == '/' || c == '%') return "may not contain '/' or '%'";
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return "contains a space or a control character";
    }
    return {};
}

base::result<> append_checked(std::string& path, const resource& of, std::string_view what, std::string_view segment) {
    if (const std::string_view fault = fault_of(segment); !fault.empty())
        return base::fail(base::errc::invalid,
                          fmt::format("{} of {} {}: \"{}\"", what, of.kind, fault, base::one_line(segment, 80)));
    path += '/';
    append_segment(path, segment);
    return {};
}

void append_version(std::string& path, std::string_view group, std::string_view version) {
    path.append(group.empty() ? "/api" : "/apis/");
    append_segment(path, group);
    path += '/';
    append_segment(path, version);
}

}  // namespace

std::string version_path(std::string_view group, std::string_view version) {
    std::string path;
    append_version(path, group, version);
    return path;
}

base::result<std::string> path_of(const resource& of, const location& at) {
    if (!of.namespaced && !at.ns.empty())
        return base::fail(base::errc::invalid, fmt::format("{} is not namespaced, but a namespace was given", of.kind));
    if (of.namespaced && at.ns.empty() && !at.name.empty())
        return base::fail(base::errc::invalid, fmt::format("{} needs a namespace", of.kind));
    if (at.name.empty() && !at.sub_resource.empty())
        return base::fail(base::errc::invalid, fmt::format("a sub-resource of {} needs a name", of.kind));
    std::string path;
    path.reserve(of.group.size() + of.version.size() + at.ns.size() + of.plural.size() + at.name.size() +
                 at.sub_resource.size() + path_room_bytes);
    append_version(path, of.group, of.version);
    if (!at.ns.empty()) {
        path += "/namespaces";
        if (auto ok = append_checked(path, of, "namespace", at.ns); !ok) return base::fail(std::move(ok).error());
    }
    path += '/';
    append_segment(path, of.plural);
    if (!at.name.empty())
        if (auto ok = append_checked(path, of, "name", at.name); !ok) return base::fail(std::move(ok).error());
    if (!at.sub_resource.empty())
        if (auto ok = append_checked(path, of, "sub-resource", at.sub_resource); !ok)
            return base::fail(std::move(ok).error());
    return path;
}

void append_description(std::string& text, const resource& of, const location& at) {
    text.append(of.kind);
    if (at.name.empty()) {
        if (!at.ns.empty()) text.append(" in ").append(at.ns);
        return;
    }
    text += ' ';
    if (!at.ns.empty()) text.append(at.ns).append("/");
    text.append(at.name);
    if (!at.sub_resource.empty()) text.append("/").append(at.sub_resource);
}

std::string describe(const resource& of, const location& at) {
    std::string text;
    append_description(text, of, at);
    return text;
}

}  // namespace cotrain::kube

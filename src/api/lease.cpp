// Reading and writing the election's lease.
#include "api/lease.hpp"

#include "api/names.hpp"

namespace cotrain::api {

base::result<lease> decode_lease(doc::ref document) {
    doc::decoding outcome("Lease");
    const doc::place root(outcome, document);
    lease out;
    out.document = document;
    if (!document.is_object()) root.expected("an object");
    out.meta = decode_meta(root);
    const doc::place spec = root.object("spec");
    spec.read("holderIdentity", out.holder);
    spec.read("leaseDurationSeconds", out.duration_seconds);
    spec.read("acquireTime", out.acquire_time);
    spec.read("renewTime", out.renew_time);
    spec.read("leaseTransitions", out.transitions);
    if (!outcome.ok()) return outcome.fail();
    return out;
}

doc::ref encode_lease(doc::arena& memory, const lease& l) {
    doc::editor out = l.document.is_object()
                          ? doc::editor::of(memory, l.document)
                          : new_object(memory, names::lease.api_version, names::lease.kind, l.meta.name, l.meta.ns);
    if (!l.meta.resource_version.empty()) out.ensure_object("metadata").set("resourceVersion", l.meta.resource_version);
    doc::editor spec = out.ensure_object("spec");
    const auto set_time = [&](std::string_view key, const std::optional<base::micros_time>& t) {
        if (t) spec.set(key, base::format_micros(*t));
    };
    spec.set("holderIdentity", l.holder).set("leaseDurationSeconds", l.duration_seconds);
    set_time("acquireTime", l.acquire_time);
    set_time("renewTime", l.renew_time);
    spec.set("leaseTransitions", l.transitions);
    return out;
}

}  // namespace cotrain::api

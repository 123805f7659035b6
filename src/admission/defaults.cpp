// Stamps patches, turns words into integers, and writes both down as a JSON patch.
#include "admission/defaults.hpp"

#include <string_view>
#include <utility>

#include "admission/json_patch.hpp"
#include "admission/own_fields.hpp"
#include "api/names.hpp"
#include "api/pod_shape.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "doc/decode.hpp"
#include "runtime/merge.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

ref patches_of(ref job) { return job.get({"spec", "runtimePatches"}); }

// A patch that an update leaves alone keeps its time; one that it changes gets a new one, whatever the client says.
void stamp_patches(doc::arena& memory, json_patch& out, ref document, ref before, std::string_view now) {
    const ref list = patches_of(document);
    const auto stored = patches_of(before).items();
    const runtime::item_list known(stored.begin(), stored.end());
    const runtime::item_places places(known, "manager");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const ref patch = list.at(i);
        if (!patch.is_object()) continue;
        const ref given = patch.get("time");
        const auto stored_at = places.find(patch);
        const ref old = stored_at ? known[*stored_at] : ref{};
        ref wanted = given;
        if (old && runtime::means_the_same(old.get("trainingRuntimeSpec"), patch.get("trainingRuntimeSpec"))) {
            wanted = old.get("time");
        } else if (old || given.is_unset()) {
            wanted = ref::make_string(memory.copy(now));
        }
        const std::string place = std::to_string(i);
        if (wanted.is_unset()) {
            if (!given.is_unset()) out.remove({"spec", "runtimePatches", place, "time"});
        } else if (!equal(wanted, given)) {
            out.set({"spec", "runtimePatches", place, "time"}, wanted);
        }
    }
}

void keep_word(json_patch& out, ref document, ref word) {
    const ref annotations = document.get({"metadata", "annotations"});
    if (!annotations.is_unset() && !annotations.is_object()) return;  // the API server takes no such object
    if (word.is_unset()) {
        if (annotations.contains(names::num_proc_annotation)) {
            out.remove({"metadata", "annotations", names::num_proc_annotation});
        }
        return;
    }
    if (annotations.is_unset()) out.set({"metadata", "annotations"}, ref::empty_object());
    if (!equal(annotations.get(names::num_proc_annotation), word)) {
        out.set({"metadata", "annotations", names::num_proc_annotation}, word);
    }
}

// Typed clients expect an integer: numbers become one, "auto" is what nothing means, "cpu" and "gpu" move.
void store_process_count(doc::arena& memory, json_patch& out, ref document, ref before,
                         const api::process_count& count) {
    using form = api::process_count::form;
    constexpr std::string_view member = "numProcPerNode";
    const ref given = document.get({"spec", "trainer", member});
    const ref word = before.get({"metadata", "annotations", names::num_proc_annotation});
    if (!count.written_as_text) {
        // The word is part of spec.trainer, which stays: a client that does not know it cannot take it away.
        const bool lost =
            word.is_string() && !document.get({"metadata", "annotations"}).contains(names::num_proc_annotation);
        if (lost && !count.is_set()) keep_word(out, document, word);
        return;
    }
    // What was stored as a text before this webhook was there may not change any more.
    if (equal(given, before.get({"spec", "trainer", member}))) return;
    if (count.kind == form::number) {
        out.set({"spec", "trainer", member}, ref::make_int(memory, count.count));
        return;
    }
    out.remove({"spec", "trainer", member});
    keep_word(out, document, count.kind == form::automatic ? ref{} : ref::make_plain_string(to_string(count.kind)));
}

}  // namespace

base::result<defaulted> default_train_job(doc::arena& memory, ref document, ref before, base::seconds_time now) {
    defaulted done;
    json_patch out(memory, document);
    if (auto good = restore_own_fields(memory, out, before, own_fields(), done.warnings); !good) {
        return base::fail(std::move(good.error()));
    }
    document = out.document();
    // What is stored already stays, however it came there.
    const bool untouched = before && equal(document.get("spec"), before.get("spec"));
    if (!untouched) {
        const auto faults = crd::check_typed(*crd::schema_of(names::train_job_kind), document);
        if (!faults.empty()) return base::fail(base::errc::invalid, "TrainJob: " + to_string(faults.front()));
    }
    doc::decoding outcome("");
    const doc::place trainer(outcome, document.get({"spec", "trainer"}));
    const api::process_count count = api::decode_process_count(trainer, "numProcPerNode");
    if (!outcome.ok() && !untouched) {
        return base::fail(base::errc::invalid, "TrainJob: spec.trainer." + outcome.fail().error().message);
    }

    if (!document.get("metadata").is_object()) {  // the API server sends no such object
        done.document = document;
        if (untouched) return done;
        return base::fail(base::errc::invalid, "TrainJob: metadata: expected an object");
    }
    if (!untouched) stamp_patches(memory, out, document, before, base::format_time(now));
    store_process_count(memory, out, document, before, count);
    if (!untouched || has_fields_kept(document)) copy_own_fields(memory, out, own_fields());
    done.document = out.document();
    done.json_patch = out.text();
    return done;
}

}  // namespace cotrain::admission

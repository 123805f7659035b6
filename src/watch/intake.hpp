// Takes decoded objects of one kind into their store and says what changed: everything of an informer but requests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "watch/decode.hpp"
#include "watch/kind.hpp"
#include "watch/object_store.hpp"

namespace cotrain::watch {

struct object_change {
    kind of{};
    handle at{};                            // in the store of the kind
    const object_record* object = nullptr;  // as it is now; its body, if any, is in the store
    std::uint8_t changes = nothing;         // bits of watch::change, never nothing
    text_id group_before = no_text;         // where it belonged, if that is not object->group; no_text if it is new
};

// Called from the event loop while an informer takes events in: note what is to be done and return. Records and texts
// hold until the call returns; retain the texts that are needed for longer. Do not change the store.
class listener {
   public:
    virtual void changed(const object_change& what) = 0;
    // It goes: the store still has it. A namesake that took its place follows with changed(added | replaced).
    virtual void removed(kind of, const object_record& last) = 0;
    // A relist is complete, what had gone meanwhile was removed: the first one and each later.
    virtual void synced(kind of) = 0;
    // The server does not know the kind (any more); all its objects were removed.
    virtual void missing(kind of) = 0;

   protected:
    ~listener() = default;
};

// --- what is kept of each kind -------------------------------------------------------------------------------------

struct kept_before {
    const text_table* texts = nullptr;
    const object_body* body = nullptr;
};

// Projections refer to the object, the reader and this projector: use one before the next is made.
class projector {
   public:
    // In the group of its runtime. Kept besides the spec: the annotations that plans depend on.
    // Of a finished job the spec is left out: nothing is planned any more.
    // `before`: what is kept of the same job, if anything. Who writes a status without knowing our fields takes them
    // away: they stay known, so that they can be written again.
    [[nodiscard]] const projection& train_job(const object_view& object, const train_job_parts& parts,
                                              kept_before before = {});
    // In the group of the TrainJob that controls it. Spec, labels and annotations are kept only while it is suspended:
    // nobody compares them after. One that no TrainJob owns has no body.
    // `before`: what is kept of the same JobSet, if anything: Pods are counted once for each generation of its spec.
    [[nodiscard]] const projection& job_set(const object_view& object, const job_set_parts& parts,
                                            kept_before before = {});
    // Runtimes: spec, and of the metadata labels, annotations and finalizers.
    [[nodiscard]] const projection& runtime(const object_view& object);
    // LimitRanges (spec), RuntimeClasses (overhead): whatever of these there is.
    [[nodiscard]] const projection& plain(const object_view& object);
    // Spec of a PodGroup, in the group of the TrainJob that controls it, if one does. Those of others are kept, too, so
    // that no more than what ours are like is kept of each.
    [[nodiscard]] const projection& pod_group(const object_view& object);
    // Secrets and ConfigMaps: no more than who they are and whose; each version counts as a change.
    [[nodiscard]] const projection& metadata(const object_view& object);

   private:
    void begin(const object_view& object);
    void find_owner(const object_view& object);
    void keep_metadata(std::initializer_list<std::pair<std::string_view, std::string_view>> members);
    void find_outcome(const status_lists& status);
    void count_pods(const object_view& object, const status_lists& status, kept_before before);

    projection out_;
    std::string group_;
    std::string extra_;
    std::string failures_;
    std::string hash_;
    std::vector<job_pods> pods_;
};

// Annotations that plans of TrainJobs and reviews of them depend on, as members of a JSON object. No value that means
// anything has escapes.
[[nodiscard]] std::string read_annotations(const known_annotations& of);

// Whether a TrainJob controls the object.
[[nodiscard]] bool owned_by_train_job(const object_view& object);

// --- the way in ----------------------------------------------------------------------------------------------------

// Foreign Secrets and ConfigMaps are not kept: those that no TrainJob controls and no child is called like. JobSets
// that no TrainJob owns are kept without body, to be noticed where they are in the way. An event without change
// allocates nothing.
class intake {
   public:
    // `ns`: relists are of that namespace alone; empty: of all. `child_suffixes`: how names of Secrets and ConfigMaps
    // end that may be children of TrainJobs.
    intake(kind of, object_store& store, text_table& texts, listener& to, base::logger& log, std::string_view ns = {},
           std::vector<std::string_view> child_suffixes = {});

    // The parts that are read of objects of this kind.
    [[nodiscard]] parts_pointer parts() const { return parts_; }
    // An object as parts() has just read it. `shown`: see object_store. An exception, the listener's ones included, is
    // logged and costs no other object.
    void upsert(const object_view& object, bool shown = true);
    void remove(const object_view& object);

    // What a relist does not show is gone, unless it is newer than the relist, which is of that version.
    void begin_relist() { store_.begin_relist(ns_); }
    void end_relist(std::string_view version);
    // The kind itself is gone.
    void vanish();

    // Whether something was lost for want of memory since this was asked last: no more than a new relist tells of it.
    [[nodiscard]] bool take_lost() { return std::exchange(lost_, false); }
    [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

   private:
    [[nodiscard]] const projection* project(const object_view& object, std::optional<handle> known);
    [[nodiscard]] const projection* project_file(const object_view& object);
    template <class Work>
    void contain(std::string_view ns, std::string_view name, Work work);
    void note_mistake(std::string_view ns, std::string_view name);
    void take_in(const object_view& object, bool shown);
    void drop(handle h);
    void tell_removed(const object_record& last);
    void sweep(std::uint64_t version);
    void complain(const object_view& object);

    kind of_;
    object_store& store_;
    text_table& texts_;
    listener& to_;
    base::logger& log_;
    std::string ns_;
    std::vector<std::string_view> child_suffixes_;
    train_job_parts train_job_;
    job_set_parts job_set_;
    parts_pointer parts_;
    projector projector_;
    std::uint64_t malformed_ = 0;
    bool lost_ = false;
};

}  // namespace cotrain::watch

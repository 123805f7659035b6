// Takes decoded objects of one kind into their store and says what changed: everything of an informer but requests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "watch/kinds.hpp"
#include "watch/listener.hpp"
#include "watch/object_store.hpp"
#include "watch/object_view.hpp"
#include "watch/projector.hpp"

namespace cotrain::watch {

// Whether an object of this name may be a child of a TrainJob: Secrets and ConfigMaps with other names are foreign,
// unless a TrainJob controls them.
[[nodiscard]] bool has_child_name(std::string_view name);

// Foreign Secrets and ConfigMaps are not kept, nor those of finished jobs. JobSets of nobody of ours are kept without
// body, to be noticed where they are in the way. An event without change allocates nothing.
class intake {
   public:
    // `jobs` is the store of TrainJobs: children need it to know when nothing of them is wanted any more. `ns`:
    // pictures are of that namespace alone; empty: of all.
    intake(kind of, object_store& store, text_table& texts, listener& to, base::logger& log,
           const object_store* jobs = nullptr, std::string_view ns = {});

    // What reads the parts of objects of this kind; null where none is looked into.
    [[nodiscard]] part_reader* parts() { return parts_; }
    // An object as parts() has just read it. `shown`: see object_store. An exception, the listener's ones included, is
    // logged and costs no other object.
    void upsert(const object_view& object, bool shown = true);
    void remove(const object_view& object);

    // What is not shown between the two is gone, unless it is newer than the picture, which is of that version.
    void begin_picture() { store_.begin_picture(ns_); }
    void end_picture(std::string_view version);
    // The kind itself is gone.
    void vanish();

    [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

   private:
    [[nodiscard]] const projection* project(const object_view& object);
    [[nodiscard]] const projection* project_job_set(const object_view& object);
    [[nodiscard]] const projection* project_file(const object_view& object);
    // The TrainJob that controls it, if it is known.
    [[nodiscard]] const object_record* owner_of(const projection& p) const;
    template <class Work>
    void contain(std::string_view ns, std::string_view name, Work work);
    void take_in(const object_view& object, bool shown);
    void drop(handle h);
    void tell_removed(const object_record& last);
    void sweep(std::uint64_t picture);
    void complain(const object_view& object);

    kind of_;
    object_store& store_;
    text_table& texts_;
    listener& to_;
    base::logger& log_;
    const object_store* jobs_;
    std::string ns_;
    train_job_reader train_job_;
    job_set_reader job_set_;
    part_reader* parts_ = nullptr;
    projector projector_;
    std::uint64_t malformed_ = 0;
};

}  // namespace cotrain::watch

// Watched objects of one kind in small records, found by name, by owner and by group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watch/object_body.hpp"
#include "watch/slot_index.hpp"
#include "watch/spec_room.hpp"
#include "watch/text_table.hpp"
#include "watch/uid.hpp"

namespace cotrain::watch {

class deletion_watch;

// Names one stay of one object: once it left the store, its handles find nothing, whoever has its place.
struct handle {
    std::uint32_t slot = ~0U;
    std::uint32_t generation = 0;

    [[nodiscard]] bool operator==(const handle&) const = default;
};

// What an update changed, as bits; 0 needs no reconcile.
enum change : std::uint8_t {
    nothing = 0,
    added = 1,
    removed = 2,
    spec_changed = 4,    // also owner, group, suspension, deletion
    status_changed = 8,  // conditions or counts
    replaced = 16        // another object of the same name: the old one is gone
};

struct object_record {
    uid id;
    uid owner;                     // of the controlling owner
    std::uint64_t version = 0;     // resourceVersion as a number (KEP-5504); 0: it was none
    std::uint64_t print = 0;       // of everything that matters
    union {                        //
        object_body* body;         // what is known in full …
        std::uint64_t counts = 0;  // … or, collapsed, the print of its counts
    };
    text_id key = no_text;    // "namespace/name"
    text_id group = no_text;  // the key of its owner, or what it was put under
    std::uint32_t before = ~0U;
    std::uint32_t after = ~0U;  // in the group
    std::uint32_t created = 0;
    std::uint32_t finished = 0;  // when complete or failed became true
    std::uint32_t generation = 0;
    bool used : 1 = false;
    bool collapsed : 1 = false;
    bool suspend : 1 = false;
    bool deleting : 1 = false;
    bool complete : 1 = false;
    bool failed : 1 = false;
    bool past_deadline : 1 = false;
    bool troubled : 1 = false;
    bool elsewhere : 1 = false;  // another controller manages it
    bool seen : 1 = false;       // taken in since the last picture of its namespace began
    bool noted : 1 = false;      // and not shown by that picture
    bool linked : 1 = false;
    bool reopened : 1 = false;   // it was done with its children (watch/finished.hpp), and is not any more
    bool held_back : 1 = false;  // a runtime with the finalizer of earlier operators

    [[nodiscard]] bool terminal() const { return complete || failed; }
};

// Two of these, a key and its places in indexes have to fit into the 256 bytes that a finished job may cost.
static_assert(sizeof(object_record) <= 88);

class object_store {
   public:
    // Texts are shared between stores: a TrainJob and its JobSet have the same key.
    explicit object_store(text_table& texts) : texts_(texts) {}
    // Keeps no more specs than `most` lets it: what is left out has a record without a body. `wanted`: see spec_room.
    object_store(text_table& texts, spec_bounds most, std::function<void()> wanted = {});
    ~object_store();
    object_store(const object_store&) = delete;
    object_store& operator=(const object_store&) = delete;

    struct outcome {
        handle at;
        std::uint8_t changes = nothing;
    };
    // Takes an object in. One that is older than what is known of the same object only counts as seen. `shown`: by the
    // picture that is under way, if one is; an answer to a write of ours is not.
    outcome upsert(const projection& p, bool shown = true);
    // Whether a record is newer than that resourceVersion, so that upsert() would change nothing.
    [[nodiscard]] static bool outdated(const object_record& known, std::string_view version);
    // Whether this very version was taken in since the picture began: then it counts as shown, if it is, and upsert()
    // would change nothing.
    [[nodiscard]] bool repeats(handle known, std::string_view version, bool shown);
    // The object is gone; false if it is not here, or a namesake is.
    bool remove(std::string_view ns, std::string_view name, std::string_view uid);
    bool remove(handle h);
    // The watch says that an object is gone, whether it is here or not; without a name any of the namespace, or of all,
    // may be.
    void tell_deleted(std::string_view ns, std::string_view name);
    // Keeps of a finished object only what its record holds. An upsert of the same state leaves it so.
    void collapse(handle h);

    // A new picture begins, of all namespaces or of one: what is not shown from now on is gone when it is complete.
    void begin_picture(std::string_view ns = {});
    // Removes what the picture of that namespace did not show; what was taken in besides meanwhile stays if it is newer
    // than the picture. `gone` is called with each key and record before it goes.
    template <class F>
    std::size_t sweep(F gone, std::uint64_t picture = ~std::uint64_t{0}, std::string_view ns = {}) {
        tell_deleted(ns, {});
        std::size_t count = 0;
        for (std::uint32_t s = 0; s < slots_; ++s) {
            if (!at(s).used || !lives_in(at(s), ns)) continue;
            if (at(s).seen && (!at(s).noted || at(s).version > picture)) continue;
            gone(std::as_const(at(s)));
            remove(handle{s, at(s).generation});
            ++count;
        }
        return count;
    }

    [[nodiscard]] const object_record* get(handle h) const;
    [[nodiscard]] std::optional<handle> find(std::string_view ns, std::string_view name) const;
    [[nodiscard]] std::optional<handle> find(text_id key) const;
    // What is known in full; null if it is collapsed.
    [[nodiscard]] const object_body* body(handle h) const;
    [[nodiscard]] std::uint64_t counts_print(const object_record& r) const;

    // All objects of a group: those a key owns (compare owner uids!), or that were put under it.
    template <class F>
    void for_each_of(text_id group, F visit) const {
        if (group == no_text) return;
        if (const auto own = find(group); own && at(own->slot).group == group) visit(*own, at(own->slot));
        std::uint32_t s = groups_.find(group, group_of());
        while (s != slot_index::none) {
            const std::uint32_t following = at(s).after;
            visit(handle{s, at(s).generation}, at(s));
            s = following;
        }
    }
    template <class F>
    void for_each(F visit) const {
        for (std::uint32_t s = 0; s < slots_; ++s)
            if (at(s).used) visit(handle{s, at(s).generation}, at(s));
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t memory_bytes() const;
    // Null where specs are kept whatever they take together.
    [[nodiscard]] const spec_room* room() const { return room_.get(); }

   private:
    static constexpr std::uint32_t chunk_records = 256;

    // An empty namespace stands for all.
    [[nodiscard]] bool lives_in(const object_record& r, std::string_view ns) const;
    [[nodiscard]] object_record& at(std::uint32_t s) const { return chunks_[s / chunk_records][s % chunk_records]; }
    // How the indexes learn what a slot is found by.
    struct by_key {
        const object_store* store;
        text_id operator()(std::uint32_t s) const { return store->at(s).key; }
    };
    struct by_group {
        const object_store* store;
        text_id operator()(std::uint32_t s) const { return store->at(s).group; }
    };
    [[nodiscard]] by_key key_of() const { return {this}; }
    [[nodiscard]] by_group group_of() const { return {this}; }
    [[nodiscard]] std::uint32_t new_slot();
    outcome insert(const projection& p, const prints& seen, bool shown);
    void fill(std::uint32_t s, const projection& p, const prints& seen);
    void move_to_group(std::uint32_t s, const projection& p);
    void free_body(object_record& r);
    void keep_body(object_record& r, const projection& p, const prints& seen);
    void link(std::uint32_t s);
    void unlink(std::uint32_t s);

    text_table& texts_;
    std::vector<std::unique_ptr<object_record[]>> chunks_;
    slot_index keys_;
    slot_index groups_;  // group → its first record
    std::uint32_t slots_ = 0;
    std::uint32_t free_ = slot_index::none;
    std::size_t size_ = 0;
    friend class deletion_watch;
    std::vector<deletion_watch*> deletion_watches_;
    std::unique_ptr<spec_room> room_;
    mutable std::string scratch_;  // a key being looked up: finding allocates nothing
};

// While the API server is asked for an object that the store may not have: whether it was said to be deleted meanwhile.
// Then the answer may be older than the deletion, which nobody will tell again.
class deletion_watch {
   public:
    deletion_watch(object_store& in, std::string_view ns, std::string_view name);
    ~deletion_watch();
    deletion_watch(const deletion_watch&) = delete;
    deletion_watch& operator=(const deletion_watch&) = delete;

    [[nodiscard]] bool deleted() const { return deleted_; }

   private:
    friend class object_store;
    object_store& in_;
    std::string ns_;
    std::string name_;
    bool deleted_ = false;
};

// A resourceVersion as a number; 0: it is none.
[[nodiscard]] std::uint64_t version_number(std::string_view text);
// "namespace/name"; of cluster-wide objects "/name".
void write_key(std::string& out, std::string_view ns, std::string_view name);
// The group of TrainJobs that use a runtime: "ClusterTrainingRuntime//name" or "TrainingRuntime/ns/name".
void write_runtime_key(std::string& out, std::string_view kind, std::string_view ns, std::string_view name);
[[nodiscard]] std::string runtime_key(std::string_view kind, std::string_view ns, std::string_view name);

}  // namespace cotrain::watch

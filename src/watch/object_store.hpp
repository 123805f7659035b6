// Watched objects of one kind in small records, found by name, by owner and by group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watch/decode.hpp"
#include "watch/spec_room.hpp"
#include "watch/text_table.hpp"

namespace cotrain::watch {

// Times are seconds since 1970 in 32 bits, which last until 2106; 0 is "not set".
struct stored_condition {
    text_id type = no_text;
    text_id reason = no_text;
    text_id message = no_text;  // mostly that of many other jobs
    std::uint32_t last_transition = 0;
    truth status = truth::unknown;
};

struct stored_counts {
    text_id name = no_text;
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
    // Of a JobSet, by its spec: see api::replicated_job_status.
    std::int32_t replicas = 0;
    std::int32_t node_pods = 0;
};

// What a TrainJob's status says beside conditions, counts and state. Of a JobSet's: restarts and nodes.
struct stored_told {
    static constexpr std::uint32_t absent = ~0U;
    text_id message = no_text;
    std::uint32_t start = 0;
    std::uint32_t restarts = absent;
    std::uint32_t nodes = absent;  // desired
    std::uint32_t nodes_ready = 0;

    [[nodiscard]] bool operator==(const stored_told&) const = default;
};

// A spec above this is not kept, only its print: what needs it gets it from the API server. Tenants decide how large
// theirs are.
inline constexpr std::size_t spec_kept_bytes_max = 16UL << 10U;
inline constexpr std::size_t pod_group_spec_bytes_max = 2UL << 10U;
// status.failures as we write it takes at most some 5 KiB. What is larger is somebody else's and not kept.
inline constexpr std::size_t failures_kept_bytes_max = 8UL << 10U;

// Of a job of a JobSet, beside its counts.
struct job_pods {
    std::int32_t replicas = 0;
    std::int32_t node_pods = 0;
};

// What the decoder found of one object, on its way into the store. Views only have to live through the call.
struct projection {
    std::string_view ns{};
    std::string_view name{};
    std::string_view uid{};
    std::string_view resource_version{};
    std::string_view creation_time{};
    std::string_view owner_ns{};    // of the controlling owner: the object's own namespace
    std::string_view owner_name{};  // empty: nobody of interest controls it
    std::string_view owner_uid{};
    std::string_view group{};           // TrainJob: its runtime, as runtime_key() writes it
    std::string_view spec{};            // kept as it is
    std::string_view extra{};           // likewise: what else of metadata the kind needs
    std::string_view managed_by{};      // TrainJob
    std::string_view terminal_state{};  // JobSet
    std::string_view snapshot_hash{};   // TrainJob: of the runtime snapshot that was recorded for it
    std::string_view queue{};           // TrainJob: of Kueue, by its label
    const status_lists* status = nullptr;
    const train_job_status_view* told = nullptr;  // TrainJob
    std::string_view failures{};                  // TrainJob: status.failures as JSON
    stored_told erased{};                         // TrainJob: numbers of its status that somebody took away
    std::span<const job_pods> pods{};             // JobSet: of status->jobs, in their order
    std::int32_t nodes = 0;                       // JobSet: Pods that train; 0: not known
    std::int32_t restarts = 0;                    // JobSet
    std::int64_t generation = 0;
    std::int64_t deadline_seconds = 0;
    std::int64_t ttl_seconds = -1;
    bool suspend = false;
    bool deleting = false;
    bool complete = false;  // terminal conditions, by the kind's own names
    bool failed = false;
    std::string_view finished_time{};  // when one of them became true
    bool past_deadline = false;        // it failed because of its deadline
    bool troubled = false;             // it says that its resources are not ready
    bool elsewhere = false;            // another controller manages it
    bool held_back = false;            // a runtime with the finalizer of earlier operators
    bool collapse = false;             // keep no body
    bool spec_left_out = false;        // keep neither spec nor extra, they are too large
};

// One allocation: this, conditions, counts, texts.
class object_body {
   public:
    struct release {
        void operator()(object_body* body) const;
    };
    using pointer = std::unique_ptr<object_body, release>;

    // Takes uses of texts, which drop() gives back before the body goes.
    // Without `keeps_spec` its spec is left out.
    [[nodiscard]] static pointer make(text_table& texts, const projection& p, bool keeps_spec = true);
    // The same but for its spec: takes over the uses of texts, so that the other one must not be dropped.
    [[nodiscard]] static pointer without_spec(const object_body& other);
    void drop(text_table& texts) const;

    [[nodiscard]] std::span<const stored_condition> conditions() const;
    [[nodiscard]] std::span<const stored_counts> counts() const;
    [[nodiscard]] std::string_view spec() const;
    [[nodiscard]] std::string_view extra() const;
    [[nodiscard]] std::string_view snapshot_hash() const;
    // status.failures as JSON, of a TrainJob that goes on.
    [[nodiscard]] std::string_view failures() const;
    [[nodiscard]] std::size_t bytes() const;

    std::uint64_t spec_print = 0;
    std::uint64_t status_print = 0;
    std::uint64_t counts_print = 0;
    std::uint32_t generation = 0;
    std::uint32_t deadline_seconds = 0;  // 0: none; more than these are none, too
    std::int32_t ttl_seconds = -1;
    stored_told told{};
    text_id terminal_state = no_text;
    text_id queue = no_text;
    std::uint8_t state = 0;  // api::job_state
    bool spec_left_out = false;

   private:
    object_body() = default;
    [[nodiscard]] const char* tail() const { return reinterpret_cast<const char*>(this + 1); }
    [[nodiscard]] const char* text() const;

    std::uint16_t failures_bytes_ = 0;
    std::uint32_t spec_bytes_ = 0;
    std::uint32_t extra_bytes_ = 0;
    std::uint8_t hash_bytes_ = 0;
    std::uint8_t conditions_ = 0;
    std::uint8_t counts_ = 0;
};
static_assert(sizeof(object_body) <= 80 && failures_kept_bytes_max <= 0xFFFF && conditions_max <= 0xFF &&
              jobs_max <= 0xFF);

// Seconds since 1970 of "2026-05-04T10:11:12Z"; 0 if the text is no time in that form.
[[nodiscard]] std::uint32_t time_seconds(std::string_view text);

// What tells whether an object changed in a way that matters.
struct prints {
    std::uint64_t spec = 0;    // spec, extra, suspension, deletion, owner, group …
    std::uint64_t status = 0;  // conditions and counts
    std::uint64_t counts = 0;  // counts alone: comparable between a TrainJob and its JobSet
};
[[nodiscard]] prints prints_of(const projection& p);

// --- indexes -------------------------------------------------------------------------------------------------------

// `key_of(slot)` gives the key of a slot that is in the table; keys are unique in it.
class slot_index {
   public:
    static constexpr std::uint32_t none = ~0U;

    template <class KeyOf>
    [[nodiscard]] std::uint32_t find(std::uint32_t key, KeyOf key_of) const {
        return table_.empty() ? none : table_[place_of(key, key_of)];
    }
    // For one more: the next put() allocates nothing.
    template <class KeyOf>
    void make_room(KeyOf key_of) {
        if ((size_ + 1) * 4 > table_.size() * 3) grow(key_of);
    }
    // Puts a slot in, or, which needs no room, in the place of the one that has its key.
    template <class KeyOf>
    void put(std::uint32_t key, std::uint32_t slot, KeyOf key_of) {
        std::uint32_t& place = table_[place_of(key, key_of)];
        if (place == none) ++size_;
        place = slot;
    }
    // While key_of still knows the slot.
    template <class KeyOf>
    void erase(std::uint32_t key, KeyOf key_of) {
        if (table_.empty()) return;
        const std::size_t mask = table_.size() - 1;
        std::size_t hole = place_of(key, key_of);
        if (table_[hole] == none) return;
        // Those behind it move up, so that searches still find them.
        for (std::size_t i = (hole + 1) & mask; table_[i] != none; i = (i + 1) & mask) {
            if (((i - home(key_of(table_[i]))) & mask) < ((i - hole) & mask)) continue;
            table_[hole] = table_[i];
            hole = i;
        }
        table_[hole] = none;
        --size_;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return table_.capacity() * sizeof(std::uint32_t); }

   private:
    [[nodiscard]] std::size_t home(std::uint32_t key) const {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15ULL) >> 32U) & (table_.size() - 1);
    }
    template <class KeyOf>
    [[nodiscard]] std::size_t place_of(std::uint32_t key, KeyOf key_of) const {
        std::size_t place = home(key);
        while (table_[place] != none && key_of(table_[place]) != key) place = (place + 1) & (table_.size() - 1);
        return place;
    }
    template <class KeyOf>
    void grow(KeyOf key_of) {
        std::vector<std::uint32_t> old(table_.empty() ? 16 : table_.size() * 2, none);
        old.swap(table_);
        for (const std::uint32_t slot : old)
            if (slot != none) table_[place_of(key_of(slot), key_of)] = slot;
    }

    std::vector<std::uint32_t> table_;
    std::size_t size_ = 0;
};

// --- the store -----------------------------------------------------------------------------------------------------

class deletion_watch;

// Of one object: once it left the store its handle finds nothing, whatever has its slot by then.
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
    bool seen : 1 = false;       // taken in since the last relist of its namespace began
    bool noted : 1 = false;      // and not shown by that relist
    bool linked : 1 = false;
    bool held_back : 1 = false;  // a runtime with the finalizer of earlier operators

    [[nodiscard]] bool terminal() const { return complete || failed; }
};

// Of a finished job there are three: its own, its JobSet's and its snapshot's. With keys and bodies they have to fit
// into 700 bytes.
static_assert(sizeof(object_record) <= 88);

class object_store {
   public:
    // Texts are shared between stores: a TrainJob and its JobSet have the same key.
    explicit object_store(text_table& texts) : texts_(texts) {}
    // Keeps no more specs than `most` lets it: what is left out has a record without a body. `wanted`: see spec_room.
    object_store(text_table& texts, spec_bounds most, std::function<void()> wanted = {});
    // The same of objects that are worked on without their specs: what is left out has a body without one. Specs of up
    // to `small_bytes` are always kept.
    struct bodies_without_specs {
        std::size_t small_bytes = 2048;
    };
    object_store(text_table& texts, spec_bounds most, bodies_without_specs of);
    ~object_store();
    object_store(const object_store&) = delete;
    object_store& operator=(const object_store&) = delete;

    struct outcome {
        handle at;
        std::uint8_t changes = nothing;
    };
    // Takes an object in. Without memory its record stays as it was, or is gone, so that it can be taken in again.
    // One that is older than what is known of the same object only counts as seen. `shown`: by the
    // relist that is under way, if one is; an answer to a write is not.
    outcome upsert(const projection& p, bool shown = true);
    // Whether a record is newer than that resourceVersion, so that upsert() would change nothing.
    [[nodiscard]] static bool outdated(const object_record& known, std::string_view version);
    // Whether this very version was taken in since the relist began: then it counts as shown, if it is, and upsert()
    // would change nothing.
    [[nodiscard]] bool repeats(handle known, std::string_view version, bool shown);
    // The object is gone; false if it is not here, or a namesake is.
    bool remove(std::string_view ns, std::string_view name, std::string_view uid);
    bool remove(handle h);
    // The watch says that an object is gone, whether it is here or not; without a name any of the namespace, or of all,
    // may be.
    void tell_deleted(std::string_view ns, std::string_view name);
    // Keeps of an object only what its record holds. An upsert of the same state leaves it so.
    void collapse(handle h);

    // A relist begins, of all namespaces or of one: what is not shown from now on is gone when it is complete.
    void begin_relist(std::string_view ns = {});
    // Removes what the relist of that namespace did not show; what was taken in besides meanwhile stays if it is newer
    // than the relist. `gone` is called with each key and record before it goes.
    template <class F>
    std::size_t sweep(F gone, std::uint64_t version = ~std::uint64_t{0}, std::string_view ns = {}) {
        tell_deleted(ns, {});
        std::size_t count = 0;
        for (std::uint32_t s = 0; s < slots_; ++s) {
            if (!at(s).used || !lives_in(at(s), ns)) continue;
            if (at(s).seen && (!at(s).noted || at(s).version > version)) continue;
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

    // An empty namespace means all.
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
    [[nodiscard]] text_id intern_group(const projection& p);
    void move_to_group(std::uint32_t s, text_use& group);
    void free_body(object_record& r);
    [[nodiscard]] object_body::pointer make_body(const object_record& r, const projection& p, const prints& seen);
    void keep_body(object_record& r, object_body::pointer body);
    [[nodiscard]] bool has_room(const object_record& r, const projection& p);
    void drop_spec(handle h);
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
    std::optional<bodies_without_specs> without_specs_;
    mutable std::string scratch_;  // a key being looked up: finding allocates nothing
};

// While the API server is asked for an object that the store may not have: whether it was said to be deleted meanwhile.
// Then the answer may be older than the deletion, of which no other event tells.
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

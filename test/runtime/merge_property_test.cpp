// Properties of strategic merge on random pod specs: what holds whatever is merged.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.hpp"
#include "doc/edit.hpp"
#include "documents.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::runtime {
namespace {

// Random but repeatable pod specs; small alphabets, so that originals and patches meet.
class generator {
   public:
    generator(doc::arena& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

    doc::ref pod_spec() {
        doc::editor out = doc::editor::object(memory_);
        if (maybe()) out.set("schedulerName", name());
        if (maybe()) out.set("nodeSelector", labels());
        if (maybe()) out.set("tolerations", some([&] { return with("key", name()); }, false));
        if (maybe()) out.set("volumes", some([&] { return volume(); }, true));
        if (maybe()) out.set("schedulingGates", some([&] { return with("name", name()); }, true));
        if (maybe()) out.set("containers", some([&] { return container(); }, true));
        if (maybe()) out.set("novel", labels());
        return doc::freeze(memory_, out);
    }

   private:
    bool maybe() { return random_.next() % 2 == 0; }
    std::string name() { return std::string(1, static_cast<char>('a' + random_.next() % 5)); }

    doc::editor with(std::string_view key, const std::string& value) {
        doc::editor out = doc::editor::object(memory_);
        out.set(key, value);
        return out;
    }
    doc::ref labels() {
        doc::editor out = doc::editor::object(memory_);
        for (std::uint64_t n = random_.next() % 4; n > 0; --n) out.set(name(), name());
        return out;
    }
    doc::editor volume() {
        doc::editor out = with("name", name());
        out.ensure_object(std::string_view(maybe() ? "emptyDir" : "hostPath")).set("x", name());
        return out;
    }
    doc::editor container() {
        doc::editor out = with("name", name());
        if (maybe()) out.set("image", name());
        if (maybe()) {
            out.set("env", some(
                               [&] {
                                   doc::editor e = with("name", name());
                                   if (maybe()) {
                                       e.set("value", name());
                                   } else {
                                       e.ensure_object({"valueFrom", "fieldRef"}).set("fieldPath", name());
                                   }
                                   return e;
                               },
                               true));
        }
        return out;
    }
    // A few items; with unique names where the API demands it.
    template <class Make>
    doc::ref some(const Make& make, bool unique) {
        doc::editor out = doc::editor::array(memory_);
        std::set<std::string> names;
        for (std::uint64_t n = random_.next() % 5; n > 0; --n) {
            const doc::editor item = make();
            if (unique && !names.emplace(item.get("name").as_string()).second) continue;
            out.append(item);
        }
        return out;
    }

    doc::arena& memory_;
    base::random_source random_;
};

class merge_properties : public testing::Test {
   protected:
    static constexpr std::uint64_t rounds = 3000;

    doc::ref merged(doc::ref original, doc::ref patch) {
        const auto out = strategic_merge(memory, original, patch, schema::pod_spec);
        EXPECT_TRUE(out) << out.error().message;
        return out ? doc::freeze(memory, *out) : doc::ref{};
    }

    doc::arena memory;
};

TEST_F(merge_properties, the_same_patch_again_changes_nothing) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const doc::ref original = g.pod_spec();
        const doc::ref patch = g.pod_spec();
        const doc::ref once = merged(original, patch);
        ASSERT_EQ(doc::to_json(merged(once, patch)), doc::to_json(once))
            << seed << ": " << doc::to_json(original) << " + " << doc::to_json(patch);
    }
}

TEST_F(merge_properties, an_empty_patch_changes_nothing) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const doc::ref original = g.pod_spec();
        ASSERT_TRUE(identical(merged(original, doc::ref::empty_object()), original)) << seed;
    }
}

TEST_F(merge_properties, keys_stay_unique_and_none_is_lost) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const doc::ref original = g.pod_spec();
        const doc::ref patch = g.pod_spec();
        const doc::ref both = merged(original, patch);
        for (const std::string_view list : {"containers", "volumes", "schedulingGates"}) {
            std::multiset<std::string_view> have;
            std::set<std::string_view> want;
            for (const doc::ref item : both.get(list).items()) have.insert(item.get("name").as_string());
            for (const doc::ref source : {original, patch}) {
                for (const doc::ref item : source.get(list).items()) want.insert(item.get("name").as_string());
            }
            ASSERT_TRUE(std::ranges::equal(have, want)) << seed << " " << list << ": " << doc::to_json(both);
        }
    }
}

TEST_F(merge_properties, volumes_and_variables_have_one_source) {  // difference 12
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const doc::ref original = g.pod_spec();
        const doc::ref both = merged(original, g.pod_spec());
        for (const doc::ref volume : both.get("volumes").items()) ASSERT_LE(volume.size(), 2U) << seed;
        for (const doc::ref c : both.get("containers").items()) {
            for (const doc::ref variable : c.get("env").items()) {
                ASSERT_FALSE(variable.contains("value") && variable.contains("valueFrom")) << seed;
            }
        }
    }
}

TEST_F(merge_properties, what_the_patch_says_is_so) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const doc::ref original = g.pod_spec();
        const doc::ref patch = g.pod_spec();
        const doc::ref both = merged(original, patch);
        ASSERT_TRUE(!patch.contains("schedulerName") || equal(both.get("schedulerName"), patch.get("schedulerName")))
            << seed;
        ASSERT_TRUE(!patch.contains("tolerations") || equal(both.get("tolerations"), patch.get("tolerations"))) << seed;
        for (const auto& label : patch.get("nodeSelector").members()) {
            ASSERT_TRUE(equal(both.get("nodeSelector").get(label.key()), label.value)) << seed;
        }
    }
}

}  // namespace
}  // namespace cotrain::runtime

// Properties of strategic merge on random pod specs: what holds whatever is merged.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/edit.hpp"
#include "base/random.hpp"
#include "documents.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"

namespace cotrain::runtime {
namespace {

// Random but repeatable pod specs; small alphabets, so that originals and patches meet.
class generator {
   public:
    generator(api::arena& memory, std::uint64_t seed) : memory_(memory), random_(seed) {}

    api::ref pod_spec() {
        api::editor out = api::editor::object(memory_);
        if (maybe()) out.set("schedulerName", name());
        if (maybe()) out.set("nodeSelector", labels());
        if (maybe()) out.set("tolerations", some([&] { return with("key", name()); }, false));
        if (maybe()) out.set("volumes", some([&] { return volume(); }, true));
        if (maybe()) out.set("schedulingGates", some([&] { return with("name", name()); }, true));
        if (maybe()) out.set("containers", some([&] { return container(); }, true));
        if (maybe()) out.set("novel", labels());
        return api::freeze(memory_, out);
    }

   private:
    bool maybe() { return random_.next() % 2 == 0; }
    std::string name() { return std::string(1, static_cast<char>('a' + random_.next() % 5)); }

    api::editor with(std::string_view key, const std::string& value) {
        api::editor out = api::editor::object(memory_);
        out.set(key, value);
        return out;
    }
    api::ref labels() {
        api::editor out = api::editor::object(memory_);
        for (std::uint64_t n = random_.next() % 4; n > 0; --n) out.set(name(), name());
        return out;
    }
    api::editor volume() {
        api::editor out = with("name", name());
        out.ensure_object(std::string_view(maybe() ? "emptyDir" : "hostPath")).set("x", name());
        return out;
    }
    api::editor container() {
        api::editor out = with("name", name());
        if (maybe()) out.set("image", name());
        if (maybe()) {
            out.set("env", some(
                               [&] {
                                   api::editor e = with("name", name());
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
    api::ref some(const Make& make, bool unique) {
        api::editor out = api::editor::array(memory_);
        std::set<std::string> names;
        for (std::uint64_t n = random_.next() % 5; n > 0; --n) {
            const api::editor item = make();
            if (unique && !names.emplace(item.get("name").as_string()).second) continue;
            out.append(item);
        }
        return out;
    }

    api::arena& memory_;
    base::random_source random_;
};

class merge_properties : public testing::Test {
   protected:
    static constexpr std::uint64_t rounds = 3000;

    api::ref merged(api::ref original, api::ref patch) {
        const auto out = strategic_merge(memory, original, patch, schema::pod_spec);
        EXPECT_TRUE(out) << out.error().message;
        return out ? api::freeze(memory, *out) : api::ref{};
    }

    api::arena memory;
};

TEST_F(merge_properties, the_same_patch_again_changes_nothing) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const api::ref original = g.pod_spec();
        const api::ref patch = g.pod_spec();
        const api::ref once = merged(original, patch);
        ASSERT_EQ(api::to_json(merged(once, patch)), api::to_json(once))
            << seed << ": " << api::to_json(original) << " + " << api::to_json(patch);
    }
}

TEST_F(merge_properties, an_empty_patch_changes_nothing) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const api::ref original = g.pod_spec();
        ASSERT_TRUE(identical(merged(original, api::ref::empty_object()), original)) << seed;
    }
}

TEST_F(merge_properties, keys_stay_unique_and_none_is_lost) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const api::ref original = g.pod_spec();
        const api::ref patch = g.pod_spec();
        const api::ref both = merged(original, patch);
        for (const std::string_view list : {"containers", "volumes", "schedulingGates"}) {
            std::multiset<std::string_view> have;
            std::set<std::string_view> want;
            for (const api::ref item : both.get(list).items()) have.insert(item.get("name").as_string());
            for (const api::ref source : {original, patch}) {
                for (const api::ref item : source.get(list).items()) want.insert(item.get("name").as_string());
            }
            ASSERT_TRUE(std::ranges::equal(have, want)) << seed << " " << list << ": " << api::to_json(both);
        }
    }
}

TEST_F(merge_properties, volumes_and_variables_have_one_source) {  // difference 12
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const api::ref original = g.pod_spec();
        const api::ref both = merged(original, g.pod_spec());
        for (const api::ref volume : both.get("volumes").items()) ASSERT_LE(volume.size(), 2U) << seed;
        for (const api::ref c : both.get("containers").items()) {
            for (const api::ref variable : c.get("env").items()) {
                ASSERT_FALSE(variable.contains("value") && variable.contains("valueFrom")) << seed;
            }
        }
    }
}

TEST_F(merge_properties, what_the_patch_says_is_so) {
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        generator g(memory, seed);
        const api::ref original = g.pod_spec();
        const api::ref patch = g.pod_spec();
        const api::ref both = merged(original, patch);
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

// Copy-on-write: what an edit changes, and what it must leave alone.
#include "doc/edit.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/documents.hpp"

namespace cotrain::doc {
namespace {

constexpr std::string_view pod =
    R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"}]},{"name":"b"}],"volumes":[{"name":"v"}]}})";

class edit : public ::testing::Test {
   protected:
    arena runtime_;
    arena job_;
    ref frozen_ = from_json(runtime_, pod);
};

TEST_F(edit, an_edit_leaves_the_frozen_document_as_it_was) {
    editor e = editor::of(job_, frozen_);
    e.child({"spec", "containers"}).entry("name", "a").ensure_array("env").ensure_entry("name", "Y").set("value", "2");
    EXPECT_EQ(to_json(frozen_), pod);
    EXPECT_EQ(to_json(e),
              R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]},)"
              R"({"name":"b"}],"volumes":[{"name":"v"}]}})");
}

TEST_F(edit, what_is_not_on_the_path_stays_shared) {
    editor e = editor::of(job_, frozen_);
    e.child({"spec", "containers"}).entry("name", "a").set("image", "i");
    EXPECT_TRUE(e.get({"spec", "volumes"}).same(frozen_.get({"spec", "volumes"})));
    EXPECT_TRUE(e.get({"spec", "containers"}).at(1).same(frozen_.get({"spec", "containers"}).at(1)));
    EXPECT_TRUE(
        e.get({"spec", "containers"}).at(0).get("env").same(frozen_.get({"spec", "containers"}).at(0).get("env")));
    EXPECT_FALSE(e.get("spec").same(frozen_.get("spec")));
}

TEST_F(edit, two_jobs_do_not_see_each_other) {
    arena other;
    editor a = editor::of(job_, frozen_);
    editor b = editor::of(other, frozen_);
    a.child("spec").set("x", 1);
    b.child("spec").set("x", 2);
    EXPECT_EQ(a.get({"spec", "x"}).as_int(), 1);
    EXPECT_EQ(b.get({"spec", "x"}).as_int(), 2);
    EXPECT_FALSE(frozen_.get("spec").contains("x"));
}

TEST_F(edit, editors_of_parents_and_children_stay_valid_while_both_grow) {
    editor root = editor::object(job_);
    editor first = root.ensure_object("first");
    for (int i = 0; i < 100; ++i) root.set("k" + std::to_string(i), i);
    first.set("late", true);
    EXPECT_EQ(root.get({"first", "late"}).as_bool(), true);
    EXPECT_EQ(root.size(), 101U);
    EXPECT_EQ(root.get("k99").as_int(), 99);
}

TEST_F(edit, a_second_edit_of_the_same_path_copies_nothing) {
    editor e = editor::of(job_, frozen_);
    editor spec = e.child("spec");
    spec.set("a", 1);
    const std::size_t used = job_.bytes_used();
    EXPECT_TRUE(e.child("spec").view().same(spec.view()));
    EXPECT_EQ(job_.bytes_used(), used);
}

TEST_F(edit, a_stored_editor_stays_editable) {
    editor list = editor::array(job_);
    editor item = editor::object(job_);
    list.append(item);
    item.set("late", 1);
    EXPECT_EQ(to_json(list), R"([{"late":1}])");
}

TEST_F(edit, a_value_stored_twice_is_two_values) {
    editor root = editor::object(job_);
    editor shared = editor::object(job_);
    shared.set("x", 1);
    root.set("a", shared).set("b", shared);
    root.child("a").set("x", 2);
    EXPECT_EQ(to_json(root), R"({"a":{"x":2},"b":{"x":1}})");
    EXPECT_THROW(shared.set("x", 3), std::logic_error) << "storing it twice has frozen it";
}

TEST_F(edit, a_stored_ref_is_frozen_all_the_way_down) {
    editor inner = editor::object(job_);
    editor deep = inner.ensure_object("deep");
    editor root = editor::object(job_);
    root.set("a", inner.view());
    EXPECT_THROW(deep.set("x", 1), std::logic_error);
    EXPECT_THROW(inner.set("x", 1), std::logic_error);
    root.child({"a", "deep"}).set("x", 1);
    EXPECT_EQ(to_json(root), R"({"a":{"deep":{"x":1}}})");
    EXPECT_EQ(to_json(inner), R"({"deep":{}})");
}

TEST_F(edit, an_editor_of_another_arena_is_frozen_when_stored) {
    editor foreign = editor::object(runtime_);
    foreign.set("x", 1);
    editor root = editor::object(job_);
    root.set("a", foreign);
    EXPECT_THROW(foreign.set("x", 2), std::logic_error);
    root.child("a").set("x", 3);
    EXPECT_EQ(foreign.get("x").as_int(), 1);
}

TEST_F(edit, a_member_that_is_copied_from_nowhere_stays_away) {
    editor object = editor::object(job_);
    object.set("a", 1).set("a", ref{}).set("b", object.get("c")).set("d", editor{});
    EXPECT_EQ(to_json(object), "{}");
}

TEST_F(edit, misuse_is_noticed) {
    editor list = editor::array(job_);
    editor object = editor::object(job_);
    EXPECT_THROW(list.set("a", 1), std::logic_error);
    EXPECT_THROW(object.append(1), std::logic_error);
    EXPECT_THROW(editor().set("a", 1), std::logic_error);
    EXPECT_THROW(list.append(ref{}), std::logic_error);
    EXPECT_THROW(object.set("a", object), std::logic_error);
    EXPECT_THROW(list.insert(1, 1), std::logic_error);
    EXPECT_THROW(list.remove(0U), std::logic_error);
    EXPECT_FALSE(editor::of(job_, from_json(job_, "3")));
}

TEST_F(edit, every_kind_of_value_is_stored_as_itself) {
    editor e = editor::object(job_);
    const std::string owned = "owned";
    e.set("literal", "text").set("string", owned).set("view", std::string_view("view"));
    e.set("true", true).set("int", 7).set("long", std::int64_t{1} << 40U).set("unsigned", 7U).set("null", nullptr);
    EXPECT_EQ(to_json(e), R"({"literal":"text","string":"owned","view":"view","true":true,"int":7,)"
                          R"("long":1099511627776,"unsigned":7,"null":null})");
}

TEST_F(edit, text_is_copied_into_the_arena) {
    editor e = editor::object(job_);
    {
        std::string name(100, 'n');
        std::string text(100, 't');
        e.set(name, text);
        name.assign(100, '-');
        text.assign(100, '-');
    }
    EXPECT_EQ(e.get(std::string(100, 'n')).as_string(), std::string(100, 't'));
}

// Text of the program is not copied, so it had better be the program's: what runs in is, whatever it is called.
TEST_F(edit, words_of_the_program_are_stored_as_they_are) {
    static constexpr std::string_view name = "name";
    static constexpr char kind[] = "kind";
    editor e = editor::object(job_);
    e.set(word(name), word(kind));
    EXPECT_EQ(e.view().members()[0].key().data(), name.data());
    EXPECT_EQ(e.get("name").text().data(), static_cast<const char*>(kind));
    EXPECT_TRUE(e.view().members()[0].name.plain());

    std::string runs = "runs";
    e.set(runs, std::string_view(runs)).set(word::copied(runs), runs);
    const char* const text = runs.c_str();
    e.ensure_object(std::string(text) + "2").set(text, text);
    runs.assign(4, 'x');
    EXPECT_EQ(to_json(e), R"({"name":"kind","runs":"runs","runs2":{"runs":"runs"}})");
}

TEST_F(edit, set_keeps_the_place_and_defaults_only_fill_gaps) {
    editor e = editor::of(job_, from_json(job_, R"({"a":1,"b":null,"c":3})"));
    e.set("a", "x").set_default("b", 2).set_default("c", 4).set_default("d", 5);
    EXPECT_EQ(to_json(e), R"({"a":"x","b":2,"c":3,"d":5})");
    EXPECT_TRUE(e.remove("b"));
    EXPECT_FALSE(e.remove("b"));
    EXPECT_EQ(to_json(e), R"({"a":"x","c":3,"d":5})");
}

TEST_F(edit, ensure_replaces_what_is_of_another_kind) {
    editor e = editor::of(job_, from_json(job_, R"({"a":null,"b":3,"c":{"d":1}})"));
    e.ensure_object("a").set("x", 1);
    e.ensure_array("b").append(2);
    e.ensure_object({"c", "e", "f"}).set("g", 1);
    EXPECT_EQ(to_json(e), R"({"a":{"x":1},"b":[2],"c":{"d":1,"e":{"f":{"g":1}}}})");
    EXPECT_FALSE(e.child("missing"));
    EXPECT_FALSE(e.child({"c", "d", "x"}));
}

TEST_F(edit, lists_are_edited_by_place) {
    editor e = editor::of(job_, from_json(job_, "[1,2,3]"));
    e.insert(0, 0);
    e.insert(4, 4);
    e.replace(2, "two");
    e.remove(1U);
    EXPECT_EQ(to_json(e), R"([0,"two",3,4])");
    e.clear();
    e.reserve(50);
    EXPECT_EQ(to_json(e), "[]");
}

TEST_F(edit, lists_are_edited_by_keys) {
    editor e = editor::of(job_, from_json(job_, R"([{"p":1,"q":"TCP"},{"p":1},{"p":2,"q":"TCP"}])"));
    e.upsert_by({"p", "q"}, from_json(job_, R"({"p":1.0,"q":"TCP","n":"a"})"));
    e.upsert_by({"p", "q"}, from_json(job_, R"({"p":1,"n":"b"})"));
    e.upsert_by({"p", "q"}, from_json(job_, R"({"p":3})"));
    EXPECT_EQ(to_json(e), R"([{"p":1.0,"q":"TCP","n":"a"},{"p":1,"n":"b"},{"p":2,"q":"TCP"},{"p":3}])");
    EXPECT_TRUE(e.remove_by("n", "b"));
    EXPECT_FALSE(e.remove_by("n", "b"));
    EXPECT_EQ(e.size(), 3U);
}

TEST_F(edit, freezing_ends_edits_and_keeps_the_text) {
    editor e = editor::of(job_, from_json(job_, R"({ "a": [1, {"b": "é\n"}], "c": {} })"));
    e.child("a").append_object().set("k", "v");
    const ref d = freeze(job_, e);
    EXPECT_THROW(e.set("x", 1), std::logic_error);
    const std::string text = R"({"a":[1,{"b":"é\n"},{"k":"v"}],"c":{}})";
    EXPECT_EQ(to_json(d), text);
    EXPECT_EQ(std::string_view(d.body()->text, d.body()->text_bytes), text);
    EXPECT_EQ(to_json(d.get("a").at(2)), R"({"k":"v"})");
    EXPECT_NE(d.get("a").at(2).body()->text, nullptr);
    arena other;
    editor changed = editor::of(other, d);
    changed.child("a").child(2).set("k", "w");
    EXPECT_EQ(to_json(changed), R"({"a":[1,{"b":"é\n"},{"k":"w"}],"c":{}})");
    EXPECT_EQ(to_json(d), text);
}

TEST_F(edit, freezing_gives_no_text_to_what_outlives_the_arena) {
    const ref spaced = from_json(runtime_, R"({ "x": 1 })");
    {
        arena shortlived;
        editor e = editor::object(shortlived);
        e.set("shared", spaced);
        EXPECT_EQ(to_json(freeze(shortlived, e)), R"({"shared":{"x":1}})");
    }
    EXPECT_EQ(spaced.body()->text, nullptr);
    EXPECT_EQ(to_json(spaced), R"({"x":1})");
}

}  // namespace
}  // namespace cotrain::doc

"""Labels that a person takes for one class, though they are written in several ways."""

from truelabel.raw.spelling import described, merged, variants

GIVEN = ["dog", "Cat", "cat", None, "cat", "new  york", "New York", "elk"]


def test_groups_have_the_most_frequent_spelling_first_and_then_go_by_the_alphabet() -> None:
    assert variants(GIVEN) == [["cat", "Cat"], ["New York", "new  york"]]
    assert variants(["a", "b", None]) == []
    assert variants(["STRASSE", "Straße"]) == [["STRASSE", "Straße"]]


def test_merging_changes_only_what_is_in_a_group() -> None:
    new = ["dog", "cat", "cat", None, "cat", "New York", "New York", "elk"]
    assert merged(GIVEN, variants(GIVEN)) == new


def test_a_sentence_names_a_few_groups() -> None:
    groups = variants([name for letter in "abcd" for name in (letter, letter.upper())])
    assert described(groups) == "'A' and 'a'; 'B' and 'b'; 'C' and 'c'; …"

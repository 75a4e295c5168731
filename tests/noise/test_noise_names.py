import pytest

from truelabel import noise


def test_every_name_can_be_parsed():
    parsed = {name: noise.parse(f"{name}:{0 if name == 'clean' else 0.4}", dataset="mnist") for name in noise.NAMES}
    assert parsed == {
        "clean": noise.Clean(),
        "sn": noise.Symmetric(0.4),
        "asn": noise.Asymmetric(0.4, "mnist"),
        "idn": noise.InstanceDependent(0.4),
        "sridn": noise.SimilarityReflected(0.4),
    }
    assert all(noise.NAMES.values())


def test_clean_needs_no_rate():
    assert noise.parse("clean") == noise.Clean()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gaussian:0.1", "There is no noise 'gaussian'; choose one of clean, sn"),
        ("idn", "as in idn:0.4"),
        ("idn:much", "as in idn:0.4"),
        ("sn:40", "40 % noise is 0.4"),
        ("clean:0.1", "choose a kind of noise"),
        ("asn:0.4", "name the dataset"),
    ],
)
def test_what_cannot_be_parsed_is_explained(text, message):
    with pytest.raises(ValueError, match=message):
        noise.parse(text)

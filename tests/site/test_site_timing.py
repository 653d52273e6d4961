"""What the site says of the machine of a run and of noise."""

from dataclasses import replace

import pytest
from site_support import EXPERIMENT, PAPER
from support import measurement
from svmrepro.workflow.journal.journal_line import dump_lines
from svmrepro.workflow.site.pages import write_site
from svmrepro.workflow.site.records import run_records
from svmrepro.workflow.site.timing_record import load, noise_facts

QUIET = {"cpu": 1, "frequency_mhz": 2600.0, "governor": "performance", "turbo": False, "steal": 0.0}
QUIET |= {"throttled_seconds": 0.0, "cgroup_cpus": None, "cgroup_memory_bytes": None}
MACHINE = {"cpu": "A processor", "versions": {"numpy": "2.0"}, "memory_bytes": 2**34}


def records(folder, *runs):
    """Return records of measurements with the given fields, through a journal of `folder`."""
    file = folder / PAPER / EXPERIMENT / "runs" / "all.jsonl"
    file.parent.mkdir(parents=True)
    fixed = {"paper": PAPER, "experiment": EXPERIMENT, "machine": MACHINE, "load_before": 1.0}
    file.write_bytes(dump_lines([measurement(**{**fixed, **run}) for run in runs]))
    return run_records(folder, PAPER, EXPERIMENT)


def warned(facts):
    return {fact.name: fact.value for fact in facts if fact.warning}


def test_a_quiet_run_has_no_warning(tmp_path):
    found = noise_facts(records(tmp_path, {"noise": QUIET}, {"noise": QUIET}))
    assert not warned(found)
    values = {fact.name: fact.value for fact in found}
    assert values["frequency"] == "2,600 MHz" and values["limit on processors (cgroup)"] == "none"
    assert values["flagged for other load"] == "0 of 2 measurements (0.0 %)"


@pytest.mark.parametrize(
    ("name", "said", "change"),
    [
        ("frequency", "1,200 … 2,600 MHz", {"frequency_mhz": 1200.0}),
        ("governor", "performance (1), powersave (1)", {"governor": "powersave"}),
        ("turbo", "off (1), on (1)", {"turbo": True}),
        ("taken by the hypervisor for other machines", "above 5 % in 1", {"steal": 0.2}),
        ("stopped by that limit", "1.5 s in 1 run", {"throttled_seconds": 1.5}),
    ],
)
def test_noise_is_warned_of_if_it_matters(tmp_path, name, said, change):
    facts = warned(noise_facts(records(tmp_path, {"noise": QUIET}, {"noise": QUIET | change})))
    assert facts.keys() == {name} and said in facts[name]


def test_flagged_runs_and_several_protocols_are_warned_of(tmp_path):
    loud = {"flagged": True, "flag_reason": "other processes used 0.9 cores", "protocol": "1, pinned"}
    found = records(tmp_path, {"noise": QUIET}, {"noise": QUIET, **loud})
    assert warned(noise_facts(found)).keys() == {"flagged for other load", "protocol of timing"}
    assert [record.flagged for record in found] == ["", "other processes used 0.9 cores"]
    assert load(found).flagged == 1 and load(found).steal == 0.0


def test_a_measurement_before_there_were_protocols_has_the_first(tmp_path):
    (new,) = records(tmp_path, {"protocol": "1"})
    old = replace(new, fields={key: value for key, value in new.fields.items() if key != "protocol"})
    values = {fact.name: fact.value for fact in noise_facts([old, new])}
    assert values["protocol of timing"] == "1"


def test_the_paper_with_most_flagged_runs_is_named(tmp_path):
    loud = {"flagged": True, "flag_reason": "other processes used 0.9 cores"}
    quiet = records(tmp_path / "one", {})
    counted = records(tmp_path / "two", {"paper": "counts", **loud}, {"paper": "counts", **loud})
    assert warned(noise_facts(quiet + counted))["flagged for other load"].endswith(", 2 of them in counts")
    assert warned(noise_facts(counted))["flagged for other load"].endswith("(100.0 %)")


def test_the_page_of_a_run_repeats_the_warnings(site, run, tmp_path):
    assert "What may have disturbed" not in (site / "smoke" / "index.html").read_text()
    folder = tmp_path / "results" / "smoke"
    (folder / PAPER).mkdir(parents=True)
    (folder / PAPER / "claims.csv").write_bytes((run / PAPER / "claims.csv").read_bytes())
    other = {"noise": QUIET, "machine": MACHINE | {"cpu": "Another one"}}
    records(folder, other, *[{"noise": QUIET | {"governor": "powersave"}}] * 2)
    out = tmp_path / "site"
    write_site([folder], out)
    page = (out / "smoke" / "index.html").read_text()
    assert "governor: powersave" in page and "<dd>A processor, Another one</dd>" in page
    assert "The frequency follows the load." in (out / "smoke" / "machine.html").read_text()

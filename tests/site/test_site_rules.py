"""The page with the graph of the rules."""

import pytest
from site_support import PROJECT
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.site import rule_graph
from svmrepro.workflow.site.rule_graph import RuleNode, drawing, read_graph

CHAIN = [RuleNode("data", "", "fetch", ()), RuleNode("runs", "", "measure", ("data",))]


def test_the_graph_is_that_of_the_rules():
    assert rule_graph.FILE.read_text() == rule_graph.as_text(rule_graph.from_snakemake(PROJECT))


def test_the_graph_leads_from_data_to_verdicts():
    steps = {step.rule: step for step in read_graph()}
    titles = {step.title for step in read_graph()}
    assert steps["compile_solvers"].uses == ()
    assert {steps[name].title for name in ("compile_solvers", "fetch_data")} <= {*steps["measure"].uses}
    assert steps["measure"].title in steps["analyse"].uses
    assert all({*step.uses} <= titles for step in read_graph())


def test_each_step_stands_below_what_it_uses_and_none_on_another():
    drawn = drawing(read_graph())
    at = {box.step.title: box for box in drawn.boxes}
    for box in drawn.boxes:
        assert 0 <= box.x <= drawn.width - rule_graph.WIDTH and box.y <= drawn.height - rule_graph.HEIGHT
        assert all(at[used].y + rule_graph.HEIGHT < box.y for used in box.step.uses)
    assert len({(box.x, box.y) for box in drawn.boxes}) == len(read_graph())


def test_an_edge_that_a_longer_path_implies_is_not_drawn():
    assert len(drawing([*CHAIN, RuleNode("table", "", "", ("data", "runs"))]).paths) == 2


def test_steps_in_a_circle_are_refused():
    with pytest.raises(StepError, match="circle"):
        drawing([*CHAIN, RuleNode("a", "", "", ("b",)), RuleNode("b", "", "", ("a",))])


def test_a_rule_without_docstring_is_named(monkeypatch):
    said = {
        "--list-rules": "fetch (Data: files.)\nmeasure\n",
        "all": '0[label = "fetch"]\n1[label = "measure"]\n',
    }
    monkeypatch.setattr(rule_graph, "_snakemake", lambda root, first, *rest: said[first])
    with pytest.raises(StepError, match="rule measure has no docstring"):
        rule_graph.from_snakemake(PROJECT)

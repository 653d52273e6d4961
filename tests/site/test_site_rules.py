"""The page with the graph of the rules."""

import pytest
from site_support import PROJECT
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.site import rule_graph
from svmrepro.workflow.site.rule_graph import RuleNode, drawing, read_graph

CHAIN = [RuleNode("data", "", "fetch", ()), RuleNode("runs", "", "measure", ("data",))]


def test_the_graph_is_that_of_the_rules():
    assert rule_graph.FILE.read_text() == rule_graph.as_text(rule_graph.from_snakemake(PROJECT))


def test_each_step_stands_below_what_it_uses_and_none_on_another():
    drawn = drawing(read_graph())
    at = {box.step.title: box for box in drawn.boxes}
    for box in drawn.boxes:
        assert 0 <= box.x <= drawn.width - rule_graph.WIDTH and box.y <= drawn.height - rule_graph.HEIGHT
        assert all(at[used].y + rule_graph.HEIGHT < box.y for used in box.step.uses)
    assert len({(box.x, box.y) for box in drawn.boxes}) == len(read_graph())


def test_steps_in_a_circle_are_refused():
    with pytest.raises(StepError, match="circle"):
        drawing([*CHAIN, RuleNode("a", "", "", ("b",)), RuleNode("b", "", "", ("a",))])

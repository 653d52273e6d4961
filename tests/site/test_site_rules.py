"""The page with the graph of the rules."""

import pytest
from support import PROJECT
from svmrepro.workflow.errors import StepError
from svmrepro.workflow.site import rule_graph
from svmrepro.workflow.site.rule_graph import RuleNode, drawing

CHAIN = [RuleNode("data", "", "fetch", ()), RuleNode("runs", "", "measure", ("data",))]


def test_the_graph_is_that_of_the_rules():
    assert rule_graph.FILE.read_text() == rule_graph.as_text(rule_graph.from_snakemake(PROJECT))


def test_steps_in_a_circle_are_refused():
    with pytest.raises(StepError, match="circle"):
        drawing([*CHAIN, RuleNode("a", "", "", ("b",)), RuleNode("b", "", "", ("a",))])

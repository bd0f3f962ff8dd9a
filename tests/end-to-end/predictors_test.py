# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops of ai.onnx.ml, linear models, trees and their features, against NumPy.

usage: PYTHONPATH=tests/support python tests/end-to-end/predictors_test.py
           BIN_DIR [unittest's options]
"""

import collections
import operator

import numpy as np
from onnx import numpy_helper

import node_models
import tool_test

MODES = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    exp = np.exp(x - x.max(-1, keepdims=True))
    return exp / exp.sum(-1, keepdims=True)


def probit(p):
    """By the approximation of the inverse error function that ONNX's reference
    and ONNX Runtime use."""
    x = 2 * p - 1
    log = np.log((1 - x) * (1 + x))
    v = 2 / (np.pi * 0.147) + log / 2
    return np.sqrt(2) * np.sign(x) * np.sqrt(np.sqrt(v * v - log / 0.147) - v)


class Forest:
    """Random trees, as the attributes of a node and to be walked here."""

    def __init__(self, rng, trees, depth, features, modes):
        self.rng, self.features, self.modes = rng, features, modes
        self.attributes = collections.defaultdict(list)
        self.leaves = []
        self.trees = [self.build(tree, [0], depth) for tree in range(trees)]

    def build(self, tree, count, depth):
        number, place = count[0], len(self.attributes["nodes_treeids"])
        count[0] += 1
        is_leaf = depth == 0 or (number > 0 and self.rng.random() < 0.2)
        node = {
            "treeids": tree,
            "nodeids": number,
            # Exporters write anything for leaves.
            "featureids": -2 if is_leaf else int(self.rng.integers(self.features)),
            "values": float(self.rng.integers(-2, 3)),
            "modes": "LEAF" if is_leaf else str(self.rng.choice(self.modes)),
            "missing_value_tracks_true": int(self.rng.integers(2)),
            "truenodeids": 0,
            "falsenodeids": 0,
        }
        for name, value in node.items():
            self.attributes[f"nodes_{name}"].append(value)
        if is_leaf:
            self.leaves.append((tree, number))
            return len(self.leaves) - 1
        branches = []
        for name in "truenodeids", "falsenodeids":
            self.attributes[f"nodes_{name}"][place] = count[0]
            branches.append(self.build(tree, count, depth - 1))
        return node, *branches

    def leaf(self, tree, row):
        while not isinstance(tree, int):
            node, yes, no = tree
            x = row[node["featureids"]]
            holds = MODES[node["modes"]](x, node["values"])
            missing = np.isnan(x) and node["missing_value_tracks_true"]
            tree = yes if holds or missing else no
        return tree

    def walk(self, x):
        """The leaf of each row in each tree."""
        return np.array([[self.leaf(t, row) for t in self.trees] for row in x])


class PredictorsTest(node_models.NodeTest):
    def add(self, model, op, inputs, expected, **attributes):
        model.add(op, inputs, expected, domain="ai.onnx.ml", **attributes)

    def refuse_ml(self, op, text, **attributes):
        self.refuse(op, [[2, 2]], text, domain="ai.onnx.ml", **attributes)

    def test_linear(self):
        model = node_models.Model()
        x, weights, offsets = self.random(6, 4), self.random(3, 4), self.random(3)
        lists = dict(coefficients=weights.ravel().tolist(), intercepts=offsets.tolist())
        y = x @ weights.T + offsets
        self.add(model, "LinearRegressor", [x], [y], targets=3, **lists)
        labels = np.array([5, 7, 9])
        self.add(model, "LinearClassifier", [x], [labels[y.argmax(1)], softmax(y)],
                 classlabels_ints=labels.tolist(), post_transform="SOFTMAX",
                 **lists)  # fmt: skip
        y = x @ weights[0] + offsets[0]
        lists = dict(coefficients=weights[0].tolist(), intercepts=[float(offsets[0])])
        self.add(model, "LinearClassifier", [x],
                 [np.where(y > 0, 7, 5), sigmoid(np.stack([-y, y], 1))],
                 classlabels_ints=[5, 7], post_transform="LOGISTIC",
                 **lists)  # fmt: skip
        self.add(model, "LinearClassifier", [x], [np.where(y >= 0, 3, 0), y[:, None]],
                 classlabels_ints=[3], **lists)  # fmt: skip
        self.check(model)

    def test_features(self):
        model = node_models.Model()
        x, whole = self.random(6, 3), np.array([[1, 2, 9], [5, 9, 1]])
        self.add(model, "Scaler", [x], [(x - [1, 2, 3]) * 0.5],
                 offset=[1.0, 2.0, 3.0], scale=[0.5])  # fmt: skip
        sizes = {
            "MAX": np.abs(x).max(1),
            "L1": np.abs(x).sum(1),
            "L2": np.sqrt((x**2).sum(1)),
        }
        for norm, size in sizes.items():
            self.add(model, "Normalizer", [x], [x / size[:, None]], norm=norm)
        holes = np.where(np.abs(x) < 0.5, np.nan, x).astype(np.float32)
        self.add(model, "Imputer", [holes],
                 [np.where(np.isnan(holes), np.array([1.0, 2.0, 3.0]), x)],
                 imputed_value_floats=[1.0, 2.0, 3.0],
                 replaced_value_float=float("nan"))  # fmt: skip
        self.add(model, "Imputer", [whole], [np.where(whole == 9, 4, whole)],
                 imputed_value_int64s=[4], replaced_value_int64=9)  # fmt: skip
        self.add(model, "OneHotEncoder", [whole],
                 [(whole[..., None] == [1, 5]).astype(np.float32)],
                 cats_int64s=[1, 5])  # fmt: skip
        names = {1: 0.5, 5: 0.25}
        self.add(model, "LabelEncoder", [whole],
                 [np.vectorize(lambda k: names.get(k, 7.0))(whole)],
                 keys_int64s=[1, 5], values_floats=[0.5, 0.25],
                 default_float=7.0)  # fmt: skip
        large = np.array([[2**53 + 1, 2**53], [1699999999999, 0]])
        self.add(model, "LabelEncoder", [large],
                 [np.array([[2**60 + 1, 2**62 + 1], [-5, 2**62 + 1]])],
                 keys_int64s=[2**53 + 1, 1699999999999],
                 values_int64s=[2**60 + 1, -5],
                 default_int64=2**62 + 1)  # fmt: skip
        self.add(model, "Imputer", [np.array([[2**63 - 1], [2**53 + 1]])],
                 [np.array([[2**60 + 1], [2**53 + 1]])],
                 imputed_value_int64s=[2**60 + 1],
                 replaced_value_int64=2**63 - 1)  # fmt: skip
        tensor = numpy_helper.from_array
        self.add(model, "LabelEncoder", [whole],
                 [np.where(whole == 5, 3, -1).astype(np.int16)],
                 keys_tensor=tensor(np.array([5])),
                 values_tensor=tensor(np.array([3], np.int16)))  # fmt: skip
        # Whatever the input is, floats are the result.
        self.add(model, "Scaler", [x.astype(np.float64)], [x * 2],
                 offset=[0.0], scale=[2.0])  # fmt: skip
        self.add(model, "Normalizer", [x.astype(np.float64)],
                 [x / sizes["L1"][:, None]], norm="L1")  # fmt: skip
        other = self.random(6, 2)
        self.add(model, "FeatureVectorizer", [x, other],
                 [np.hstack([x[:, :2], other, np.zeros((6, 1), np.float32)])],
                 inputdimensions=[2, 3])  # fmt: skip
        self.check(model)

    def test_support_vectors(self):
        model = node_models.Model()
        x, vectors, weights = self.random(6, 4), self.random(5, 4), self.random(5)
        gamma, offset, degree = 0.25, 0.5, 3.0
        squares = ((x[:, None] - vectors) ** 2).sum(2)
        dot = x @ vectors.T
        kernels = {
            "LINEAR": dot,
            "POLY": (gamma * dot + offset) ** degree,
            "RBF": np.exp(-gamma * squares),
            "SIGMOID": np.tanh(gamma * dot + offset),
        }
        lists = dict(
            support_vectors=vectors.ravel().tolist(),
            coefficients=weights.tolist(),
            kernel_params=[gamma, offset, degree],
            n_supports=5,
            rho=[0.125],
        )
        for name, values in kernels.items():
            y = (values @ weights + 0.125)[:, None]
            self.add(model, "SVMRegressor", [x], [y], kernel_type=name, **lists)
        self.add(model, "SVMRegressor", [x], [np.where(y > 0, 1.0, -1.0)],
                 kernel_type=name, one_class=1, **lists)  # fmt: skip
        linear = x @ vectors[0] + 0.25
        self.add(model, "SVMRegressor", [x.astype(np.float64)], [linear[:, None]],
                 coefficients=vectors[0].tolist(), rho=[0.25])  # fmt: skip
        self.check(model)
        self.refuse_ml("SVMRegressor", 'RBF or SIGMOID', kernel_type="COSINE",
                       coefficients=[1.0], rho=[0.0])  # fmt: skip
        self.refuse_ml("SVMRegressor", "n_supports 3, 1 coefficients", n_supports=3,
                       coefficients=[1.0], rho=[0.0])  # fmt: skip

    def test_support_vector_classifiers(self):
        """As ONNX Runtime has them: votes, scores, and probabilities, which an
        iteration finds."""
        x = self.random(7, 4)
        model = node_models.Model()
        for classes in 2, 3, 4:
            own = self.rng.integers(1, 4, classes).tolist()
            count, pairs = sum(own), classes * (classes - 1) // 2
            lists = dict(
                vectors_per_class=own,
                support_vectors=self.random(count * 4).tolist(),
                coefficients=self.random(count * (classes - 1)).tolist(),
                rho=self.random(pairs).tolist(),
                classlabels_ints=list(range(10, 10 + classes)),
                kernel_params=[0.3, 0.5, 2.0],
            )
            likely = dict(
                prob_a=(-np.abs(self.random(pairs))).tolist(),
                prob_b=self.random(pairs).tolist(),
            )
            for more in (
                dict(kernel_type="RBF"),
                dict(kernel_type="POLY", post_transform="LOGISTIC"),
                dict(kernel_type="LINEAR", post_transform="SOFTMAX"),
                dict(kernel_type="RBF", **likely),
            ):
                attributes = lists | more
                plain = classes == 2 and more.get("post_transform") == "SOFTMAX"
                expected = node_models.run_in_runtime(
                    "SVMClassifier", [x], 2, domain="ai.onnx.ml",
                    **attributes | (dict(post_transform="NONE") if plain else {}),
                )  # fmt: skip
                if plain:  # ONNX Runtime has 1 - x and x, which is no softmax.
                    expected[1] = softmax(expected[1])
                self.add(model, "SVMClassifier", [x], expected, **attributes)
        self.check(model, atol=1e-4)
        self.refuse_ml("SVMClassifier", "3 classes, 2 vectors",
                       classlabels_ints=[0, 1, 2], vectors_per_class=[1, 1],
                       coefficients=[1.0] * 4, rho=[0.0] * 3)  # fmt: skip
        many = 700
        self.refuse_ml("SVMClassifier", "244650 pairs of classes with 700 vectors",
                       classlabels_ints=list(range(many)), vectors_per_class=[1] * many,
                       support_vectors=[1.0] * (2 * many),
                       coefficients=[1.0] * (many * (many - 1)),
                       rho=[0.0] * (many * (many - 1) // 2))  # fmt: skip

    def test_vectorizer(self):
        """Weights, several lengths and tokens between those of an n-gram."""
        tokens = self.rng.integers(0, 4, (3, 12))
        grams = [(0,), (2,), (1, 3), (2, 2), (3, 0), (0, 1, 2)]
        columns = [4, 0, 1, 6, 2, 3]  # Column 5 is no n-gram's.
        weights, of_columns = self.random(6), np.zeros(7, np.float32)
        of_columns[columns] = weights
        counts = np.zeros((3, 7))
        for gram, column in zip(grams, columns):
            for distance in range(1, 2 if len(gram) == 1 else 4):
                span = (len(gram) - 1) * distance
                for i in range(12 - span):
                    found = tokens[:, i : i + span + 1 : distance] == gram
                    counts[:, column] += found.all(1)
        attributes = dict(
            min_gram_length=1, max_gram_length=3, max_skip_count=2,
            pool_int64s=[t for gram in grams for t in gram],
            ngram_counts=[0, 2, 8], ngram_indexes=columns,
        )  # fmt: skip
        model = node_models.Model()
        for mode, expected in (
            ("TF", counts),
            ("IDF", (counts > 0) * of_columns),
            ("TFIDF", counts * of_columns),
        ):
            model.add("TfIdfVectorizer", [tokens], [expected], domain="", mode=mode,
                      weights=weights.tolist(), **attributes)  # fmt: skip
        self.check(model)

    def test_tree_regressor(self):
        model = node_models.Model()
        x = self.rng.integers(-3, 4, (30, 4)).astype(np.float32)
        x[3, 1] = x[5] = np.nan
        for modes in ["BRANCH_LEQ"], list(MODES):
            forest = Forest(self.rng, 5, 4, 4, modes)
            weights = self.random(len(forest.leaves), 2)
            pairs = [leaf for leaf in forest.leaves for _ in range(2)]
            found = weights[forest.walk(x)]
            for name, y in (("SUM", found.sum(1)), ("AVERAGE", found.mean(1)),
                            ("MIN", found.min(1)), ("MAX", found.max(1))):  # fmt: skip
                self.add(model, "TreeEnsembleRegressor", [x], [y + [0.5, 1.5]],
                         n_targets=2, aggregate_function=name,
                         target_treeids=[t for t, _ in pairs],
                         target_nodeids=[n for _, n in pairs],
                         target_ids=[0, 1] * len(forest.leaves),
                         target_weights=weights.ravel().tolist(),
                         base_values=[0.5, 1.5], **forest.attributes)  # fmt: skip
        self.add(model, "TreeEnsembleRegressor", [x.astype(np.float64)],
                 [found.sum(1)[:, :1]],
                 target_treeids=[t for t, _ in forest.leaves],
                 target_nodeids=[n for _, n in forest.leaves],
                 target_ids=[0] * len(forest.leaves),
                 target_weights=weights[:, 0].tolist(),
                 **forest.attributes)  # fmt: skip
        self.check(model)

    def test_tree_classifier(self):
        model = node_models.Model()
        x = self.rng.integers(-3, 4, (30, 4)).astype(np.float32)
        forest = Forest(self.rng, 6, 3, 4, ["BRANCH_LT"])
        weights, leaves = self.random(len(forest.leaves)), forest.walk(x)
        lists = dict(class_treeids=[t for t, _ in forest.leaves],
                     class_nodeids=[n for _, n in forest.leaves],
                     class_weights=weights.tolist(), **forest.attributes)  # fmt: skip
        # Each tree is for one class, as boosted ones are.
        ids = [t % 3 for t, _ in forest.leaves]
        y = weights[leaves].reshape(-1, 2, 3).sum(1)
        labels = np.array([4, 6, 8])
        self.add(model, "TreeEnsembleClassifier", [x],
                 [labels[y.argmax(1)], softmax(y)], post_transform="SOFTMAX",
                 classlabels_int64s=labels.tolist(), class_ids=ids,
                 **lists)  # fmt: skip
        y = weights[leaves].sum(1) + np.float32(0.25)
        self.add(model, "TreeEnsembleClassifier", [x],
                 [np.where(y > 0, 6, 4), sigmoid(np.stack([-y, y], 1))],
                 post_transform="LOGISTIC", classlabels_int64s=[4, 6],
                 class_ids=[0] * len(ids), base_values=[0.25], **lists)  # fmt: skip
        lists["class_weights"] = (np.abs(weights) / 6).tolist()
        y = np.abs(weights / 6)[leaves].sum(1)
        self.add(model, "TreeEnsembleClassifier", [x],
                 [np.where(y > 0.5, 6, 4), np.stack([1 - y, y], 1)],
                 classlabels_int64s=[4, 6], class_ids=[0] * len(ids),
                 **lists)  # fmt: skip
        # Probabilities are no scores for ONNX Runtime, but for PROBIT.
        small = np.abs(weights) / weights.size
        y = small[leaves].sum(1)
        both = np.stack([1 - y, y], 1)
        lists["class_weights"] = small.tolist()
        for name, scores in (("LOGISTIC", both), ("PROBIT", probit(both))):
            self.add(model, "TreeEnsembleClassifier", [x],
                     [np.where(y > 0.5, 6, 4), scores], post_transform=name,
                     classlabels_int64s=[4, 6], class_ids=[0] * len(ids),
                     **lists)  # fmt: skip
        self.check(model)

    def test_errors(self):
        circle = dict(
            nodes_treeids=[0, 0], nodes_nodeids=[0, 1], nodes_featureids=[0, 0],
            nodes_values=[0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF"],
            nodes_truenodeids=[0, 0], nodes_falsenodeids=[1, 0],
            target_treeids=[0], target_nodeids=[1], target_ids=[0],
            target_weights=[1.0],
        )  # fmt: skip
        regressor = "TreeEnsembleRegressor"
        self.refuse_ml(regressor, "lead to none, or in a circle", **circle)
        tree = circle | dict(nodes_truenodeids=[1, 0])
        self.refuse_ml(regressor, "feature 7 of an input 2x2xf32",
                       **tree | dict(nodes_featureids=[7, 0]))  # fmt: skip
        self.refuse_ml(regressor, "target 3 of 1", **tree | dict(target_ids=[3]))
        self.refuse_ml(regressor, 'nodes_modes: "BRANCH" is not known',
                       **tree | dict(nodes_modes=["BRANCH", "LEAF"]))  # fmt: skip
        self.refuse_ml(regressor, "nodes_values: expected 2 elements, found 1",
                       **tree | dict(nodes_values=[0.0]))  # fmt: skip
        self.refuse_ml("LinearClassifier",
                       "expected 3 classlabels_ints or classlabels_strings, found 2",
                       coefficients=[1.0] * 6, intercepts=[0.0] * 3,
                       classlabels_strings=["a", "b"])  # fmt: skip
        self.refuse_ml("LinearClassifier",
                       "expected classlabels_ints or classlabels_strings, found both",
                       coefficients=[1.0] * 4, intercepts=[0.0] * 2,
                       classlabels_ints=[1], classlabels_strings=["a"])  # fmt: skip
        self.refuse_ml("LinearRegressor", "expected 1 times 2 coefficients",
                       coefficients=[1.0, 2.0, 3.0])  # fmt: skip
        self.refuse_ml("Normalizer", "expected MAX, L1 or L2", norm="L3")


if __name__ == "__main__":
    tool_test.main()

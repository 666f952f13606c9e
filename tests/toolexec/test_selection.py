"""Indices that differ from the reference's are right where they select equal elements."""

import numpy as np

from kernelwright.toolexec.selection import selects_equal


class TestIndices:
    """Indices are right if they select an equal value."""

    x = np.array([[1.0, 7.0, 7.0, 2.0], [5.0, 5.0, 0.0, 1.0]])

    def test_another_element_of_equal_value_is_as_good(self):
        assert selects_equal(np.array([2, 1]), np.array([1, 0]), self.x)
        assert selects_equal(np.array([[2], [1]]), np.array([[1], [0]]), self.x)
        down = np.array([[3.0, 4.0, 5.0, 6.0], [3.0, 9.0, 1.0, 2.0]])
        assert selects_equal(np.array([0, 1, 0, 0]), np.array([1, 1, 0, 0]), down)
        assert not selects_equal(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]), down)

    def test_an_element_of_another_value_is_not(self):
        assert not selects_equal(np.array([3, 1]), np.array([1, 0]), self.x)

    def test_indices_out_of_range_are_not(self):
        assert not selects_equal(np.array([4, 1]), np.array([1, 0]), self.x)
        assert not selects_equal(np.array([-2, 1]), np.array([1, 0]), self.x)

    def test_a_sort_names_each_element_once(self):
        right = np.array([[0, 3, 1, 2], [2, 3, 0, 1]])
        assert selects_equal(np.array([[0, 3, 2, 1], [2, 3, 1, 0]]), right, self.x)
        assert not selects_equal(np.array([[0, 3, 1, 1], [2, 3, 0, 1]]), right, self.x)

    def test_one_index_into_everything(self):
        assert selects_equal(np.array(2), np.array(1), self.x)
        assert not selects_equal(np.array(3), np.array(1), self.x)

    def test_pooling_indices_run_over_the_plane(self):
        image = np.array([[[[1.0, 4, 4, 2], [0, 0, 0, 9], [3, 3, 1, 1], [0, 0, 0, 0]]]])
        right = np.array([[[[1, 7], [8, 10]]]])
        assert selects_equal(np.array([[[[1, 7], [9, 11]]]]), right, image)
        assert not selects_equal(np.array([[[[1, 7], [12, 11]]]]), right, image)

    def test_counts_are_no_indices(self):
        assert not selects_equal(np.array([1.0, 2.0]), np.array([1.0, 2.0]), self.x)
        assert not selects_equal(np.array([1, 2, 3]), np.array([1, 2, 2]), self.x)

//! A list that holds at least one item, so that a PASS without evidence cannot be written down.

use serde::{Deserialize, Serialize};

/// At least one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<T>", into = "Vec<T>")]
#[serde(bound(serialize = "T: Clone + Serialize"))]
pub struct NonEmpty<T>(Vec<T>);

/// The list was empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the list must hold at least one item")]
pub struct EmptyError;

impl<T> NonEmpty<T> {
    /// A list of one.
    pub fn one(item: T) -> Self {
        Self(vec![item])
    }

    /// The list, unless it is empty.
    #[must_use]
    pub fn from_vec(items: Vec<T>) -> Option<Self> {
        if items.is_empty() { None } else { Some(Self(items)) }
    }

    /// All items.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// The first item.
    #[must_use]
    pub fn first(&self) -> &T {
        &self.0[0]
    }

    /// All items, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }
}

impl<T> TryFrom<Vec<T>> for NonEmpty<T> {
    type Error = EmptyError;

    fn try_from(items: Vec<T>) -> Result<Self, EmptyError> {
        Self::from_vec(items).ok_or(EmptyError)
    }
}

impl<T> From<NonEmpty<T>> for Vec<T> {
    fn from(list: NonEmpty<T>) -> Self {
        list.0
    }
}

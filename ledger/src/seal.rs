//! The sealed day: a tree of hashes and sums over all accounts of a realm, and the text that a realm signs about it.
//!
//! **Shape.** A leaf is an account at the end of the day. A node commits to the hashes and the sums of both children, so the
//! root commits to every balance and to the total. The tree has the shape of RFC 6962: of `n` leaves, the left subtree
//! has the largest power of two that is smaller than `n`. `docs/sealed-days.md` has every byte of it.
//!
//! **Blocks.** [`BLOCK_LEAVES`] is a power of two, so the tree over the roots of blocks is the upper part of the tree over
//! all leaves: a builder for each block and one over their roots give the same root, and the path of a leaf is
//! its path in the block followed by the path of the block.
//!
//! **Bounds.** A builder keeps a node for each level. [`path`] takes the time of hashing all nodes that it is given. Nothing
//! here fails, and nothing signs: the caller has the key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::chain::Digest;
use crate::cvu::Cvu;
use crate::money::Sum;

/// The leaves of a block: 4,096, a power of two. The last block of a tree may have fewer.
pub const BLOCK_LEAVES: usize = 4_096;

const LEAF: &[u8] = b"caudal/day/leaf/1\n";
const NODE: &[u8] = b"caudal/day/node/1\n";
const EMPTY: &[u8] = b"caudal/day/empty/1\n";
/// The type of an Ed25519 key in a signed note.
const ED25519: u8 = 1;

/// An account at the end of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayLeaf {
    /// Random bytes of this account and day, without which nobody can guess the leaf from its hash.
    pub salt: [u8; 32],
    /// The account.
    pub cvu: Cvu,
    /// The money that it could spend, in centavos.
    pub available: Sum,
    /// The money that was set apart, in centavos.
    pub held: Sum,
    /// The number of its last voucher; 0 without one.
    pub sequence: u64,
    /// The hash of its last voucher; zeros without one.
    pub chain: Digest,
}

impl DayLeaf {
    /// The leaf as a node of the tree.
    pub fn node(&self) -> SumNode {
        let bytes = [
            LEAF,
            &self.salt,
            self.cvu.as_str().as_bytes(),
            &self.available.centavos().to_be_bytes(),
            &self.held.centavos().to_be_bytes(),
            &self.sequence.to_be_bytes(),
            &self.chain.0,
        ];
        SumNode {
            hash: Digest::of(&bytes.concat()),
            available: self.available,
            held: self.held,
        }
    }
}

/// A node of the tree: a hash, and the sums of the leaves below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SumNode {
    /// The hash of the leaf, or of both children with their sums.
    #[serde(rename = "d")]
    pub hash: Digest,
    /// The sum of what can be spent, in centavos.
    #[serde(rename = "a")]
    pub available: Sum,
    /// The sum of what is set apart, in centavos.
    #[serde(rename = "h")]
    pub held: Sum,
}

impl SumNode {
    /// The root of a tree without leaves.
    pub fn empty() -> Self {
        Self {
            hash: Digest::of(EMPTY),
            available: Sum::default(),
            held: Sum::default(),
        }
    }

    /// The parent of two nodes.
    #[must_use]
    pub fn join(left: &Self, right: &Self) -> Self {
        let mut bytes = Vec::with_capacity(NODE.len().strict_add(128));
        bytes.extend_from_slice(NODE);
        for child in [left, right] {
            bytes.extend_from_slice(&child.hash.0);
            bytes.extend_from_slice(&child.available.centavos().to_be_bytes());
            bytes.extend_from_slice(&child.held.centavos().to_be_bytes());
        }
        Self {
            hash: Digest::of(&bytes),
            available: left.available.plus(right.available),
            held: left.held.plus(right.held),
        }
    }
}

/// Builds a tree of nodes that come one after the other; it keeps one node for each level.
#[derive(Clone, Debug, Default)]
pub struct TreeBuilder {
    /// The perfect subtrees so far with the logarithms of their sizes, which fall from left to right.
    perfect: Vec<(u32, SumNode)>,
}

impl TreeBuilder {
    /// Adds a node to the right: a leaf, or the root of a block.
    pub fn push(&mut self, node: SumNode) {
        let (mut height, mut node) = (0, node);
        while let Some((_, left)) = self.perfect.pop_if(|(of, _)| *of == height) {
            node = SumNode::join(&left, &node);
            height = height.strict_add(1);
        }
        self.perfect.push((height, node));
    }

    /// The root over all nodes so far; [`SumNode::empty`] without one.
    pub fn root(&self) -> SumNode {
        let nodes = self.perfect.iter().rev().map(|(_, node)| *node);
        let root = nodes.reduce(|right, left| SumNode::join(&left, &right));
        root.unwrap_or_else(SumNode::empty)
    }
}

impl FromIterator<SumNode> for TreeBuilder {
    fn from_iter<T: IntoIterator<Item = SumNode>>(nodes: T) -> Self {
        let mut tree = Self::default();
        for node in nodes {
            tree.push(node);
        }
        tree
    }
}

words! {
    /// The side of a sibling.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub enum Side {
        /// The sibling is the left child.
        #[serde(rename = "l")]
        Left = "left",
        /// The sibling is the right child.
        #[serde(rename = "r")]
        Right = "right",
    }
}

/// A step from a node to its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// The side of the sibling.
    pub side: Side,
    /// The sibling.
    pub node: SumNode,
}

/// The steps from the node at a place (from 0) to the root over `nodes`: leaves of a block, or the roots of all blocks. The path
/// of a leaf in a tree of blocks is the one followed by the other. It is empty for a single node and for a place
/// that is not there.
pub fn path(nodes: &[SumNode], at: usize) -> Vec<PathStep> {
    let root = |nodes: &[SumNode]| nodes.iter().copied().collect::<TreeBuilder>().root();
    let (mut nodes, mut at, mut steps) = (nodes, at, Vec::new());
    if at >= nodes.len() {
        return steps;
    }
    while nodes.len() > 1 {
        // The largest power of two that is smaller than the number of nodes.
        let half = nodes.len().next_power_of_two() / 2;
        let (left, right) = nodes.split_at(half);
        let (side, sibling) = if at < half {
            nodes = left;
            (Side::Right, right)
        } else {
            nodes = right;
            at = at.strict_sub(half);
            (Side::Left, left)
        };
        let node = root(sibling);
        steps.push(PathStep { side, node });
    }
    steps.reverse();
    steps
}

/// The root to which a path leads from a leaf.
pub fn climb(leaf: SumNode, path: &[PathStep]) -> SumNode {
    path.iter().fold(leaf, |node, step| match step.side {
        Side::Left => SumNode::join(&step.node, &node),
        Side::Right => SumNode::join(&node, &step.node),
    })
}

/// The id of an Ed25519 key in a signed note; `name` has neither spaces nor `+`.
pub fn key_id(name: &str, public_key: &[u8; 32]) -> [u8; 4] {
    let bytes = [name.as_bytes(), b"\n", &[ED25519], public_key];
    Digest::of(&bytes.concat()).first()
}

/// The text by which verifiers know a key: `<name>+<key id>+<base64 of the key>`.
pub fn verifier_key(name: &str, public_key: &[u8; 32]) -> String {
    let id = u32::from_be_bytes(key_id(name, public_key));
    let key = base64(&[&[ED25519], public_key.as_slice()].concat());
    format!("{name}+{id:08x}+{key}")
}

/// A text that ends with a line end, with its signature under it.
pub fn signed_note(text: &str, name: &str, public_key: &[u8; 32], signature: &[u8; 64]) -> String {
    let id = key_id(name, public_key);
    let signature = base64(&[id.as_slice(), signature].concat());
    format!("{text}\n\u{2014} {name} {signature}\n")
}

/// Standard base64, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(number: u64) -> DayLeaf {
        let centavos = i128::from(number * number + 7);
        DayLeaf {
            salt: Digest::of(&number.to_be_bytes()).0,
            cvu: Cvu::compose(184, number).unwrap(),
            available: Sum::from_centavos(centavos),
            held: Sum::from_centavos(i128::from(number % 3)),
            sequence: number % 5,
            chain: Digest::default(),
        }
    }

    fn leaves(count: usize) -> Vec<SumNode> {
        (0..).take(count).map(|at| leaf(at).node()).collect()
    }

    fn built(nodes: &[SumNode]) -> SumNode {
        nodes.iter().copied().collect::<TreeBuilder>().root()
    }

    /// The tree as RFC 6962 defines it: split at the largest power of two below the number of leaves.
    fn defined(nodes: &[SumNode]) -> SumNode {
        match nodes {
            [] => SumNode::empty(),
            [one] => *one,
            many => {
                let below = (0..).map(|power| 1 << power);
                let half = below.take_while(|half| *half < many.len()).last();
                let (left, right) = many.split_at(half.unwrap());
                SumNode::join(&defined(left), &defined(right))
            }
        }
    }

    #[test]
    fn a_leaf_and_a_node_hash_the_bytes_of_the_format() {
        let one = leaf(1);
        let mut bytes = b"caudal/day/leaf/1\n".to_vec();
        bytes.extend(one.salt);
        bytes.extend(b"0000184300000000000017");
        bytes.extend([[0; 15].as_slice(), &[8]].concat());
        bytes.extend([[0; 15].as_slice(), &[1]].concat());
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 1]);
        bytes.extend([0; 32]);
        assert_eq!(one.node().hash, Digest::of(&bytes));

        let (left, right) = (one.node(), leaf(2).node());
        let mut bytes = b"caudal/day/node/1\n".to_vec();
        for (child, available, held) in [(left, 8, 1), (right, 11, 2)] {
            bytes.extend(child.hash.0);
            bytes.extend([[0; 15].as_slice(), &[available]].concat());
            bytes.extend([[0; 15].as_slice(), &[held]].concat());
        }
        let parent = SumNode::join(&left, &right);
        assert_eq!(parent.hash, Digest::of(&bytes));
        assert_eq!(parent.available, Sum::from_centavos(19));
        assert_eq!(parent.held, Sum::from_centavos(3));
        assert_eq!(SumNode::empty().hash, Digest::of(b"caudal/day/empty/1\n"));
    }

    #[test]
    fn the_builder_makes_the_tree_of_the_definition_and_every_path_leads_to_its_root() {
        for count in 0..=70 {
            let nodes = leaves(count);
            let root = defined(&nodes);
            assert_eq!(built(&nodes), root, "{count} leaves");
            for (at, node) in nodes.iter().enumerate() {
                assert_eq!(climb(*node, &path(&nodes, at)), root, "{at} of {count}");
            }
            assert_eq!(path(&nodes, count), Vec::new());
        }
    }

    #[test]
    fn blocks_and_the_tree_over_their_roots_make_the_same_tree() {
        let most = 5 * BLOCK_LEAVES + 77;
        let all = leaves(most);
        for count in [
            1,
            BLOCK_LEAVES - 1,
            BLOCK_LEAVES,
            BLOCK_LEAVES + 1,
            2 * BLOCK_LEAVES,
            2 * BLOCK_LEAVES + 1,
            3 * BLOCK_LEAVES - 1,
            4 * BLOCK_LEAVES + 2_048,
            most,
        ] {
            let nodes = &all[..count];
            let blocks: Vec<_> = nodes.chunks(BLOCK_LEAVES).collect();
            let roots: Vec<_> = blocks.iter().map(|block| built(block)).collect();
            let root = defined(nodes);
            assert_eq!(built(&roots), root, "{count} leaves");
            for at in [0, count / 3, count / 2, count - 1] {
                let (block, within) = (at / BLOCK_LEAVES, at % BLOCK_LEAVES);
                let mut steps = path(blocks[block], within);
                steps.extend(path(&roots, block));
                assert_eq!(climb(nodes[at], &steps), root, "{at} of {count}");
                assert_eq!(steps, path(nodes, at), "{at} of {count}");
            }
        }
    }
}

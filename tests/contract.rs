//! The channels against what real servers answered.

mod replay;

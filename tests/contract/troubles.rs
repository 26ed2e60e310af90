//! What goes wrong before every real server alike: an answer that is not heard, and a secret that is not taken.

use super::blog::{Blog, one_article};
use super::relay::{Order, Relay};

/// A blog, the relay that its service is behind, and the words of the request that posts.
pub(super) struct Behind {
    pub(super) blog: Blog,
    pub(super) relay: Relay,
    pub(super) write: &'static str,
}

impl Behind {
    /// The run dies while the answer is on its way, and the next one finds the post.
    #[track_caller]
    pub(super) fn killed_before_the_answer(&self, posts: impl Fn() -> usize) {
        let Self { blog, relay, write } = self;
        blog.write_articles(&[one_article("killed")]);
        relay.order(write, Order::Swallow);
        let running = blog.start();
        relay.until_done();
        blog.kill(running);
        assert_eq!(posts(), 1, "it was posted");
        assert_eq!(
            blog.row("killed")["operations"]["publish"]["state"],
            "in_flight"
        );
        let ran = blog.run();
        ran.assert_code(0);
        assert_eq!(ran.deliveries(), "killed there done read_back 1\n");
        assert_eq!((relay.count(write), posts()), (1, 1));
    }

    /// The answer is lost, and the same run finds the post.
    #[track_caller]
    pub(super) fn lost_answer(&self, posts: impl Fn() -> usize) {
        let Self { blog, relay, write } = self;
        blog.configure("interval = \"0s\"", "interval = \"0s\"\nlookups = [\"1s\"]");
        blog.write_articles(&[one_article("lost")]);
        relay.order(write, Order::Lose);
        let ran = blog.run();
        ran.assert_code(0);
        assert_eq!(ran.deliveries(), "lost there done read_back 1\n");
        assert_eq!((relay.count(write), posts()), (1, 1));
    }

    /// With a wrong secret nothing is sent, and with the right one it is. Returns what was said.
    #[track_caller]
    pub(super) fn wrong_secret(mut self, wrong: &str, right: &str) -> String {
        self.blog.write_articles(&[one_article("refused")]);
        self.blog.take_secret(wrong);
        let refused = self.blog.run();
        refused.assert_code(5);
        assert_eq!(self.relay.count(self.write), 0);
        self.blog.take_secret(right);
        let ran = self.blog.run();
        ran.assert_code(0);
        assert_eq!(ran.deliveries(), "refused there done response 1\n");
        refused.problems().join("\n")
    }
}

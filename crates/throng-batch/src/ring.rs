//! A ring of buffers between two threads: one fills them, the other uses them and gives them back.
//!
//! Both threads work at the same time, and the buffers are allocated once.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::{panic, thread};

/// A ring of so many buffers, all empty: the end that fills them, and the end that uses them.
pub(crate) fn ring<T: Default>(buffers: usize) -> (Producer<T>, Consumer<T>) {
    let (give_back, empty) = channel();
    (0..buffers).for_each(|_| drop(give_back.send(T::default())));
    let (pass_on, full) = sync_channel(buffers);
    (Producer { empty, pass_on }, Consumer { full, give_back })
}

/// The producer: where buffers are filled. Dropping it says that there is no more.
pub(crate) struct Producer<T> {
    empty: Receiver<T>,
    pass_on: SyncSender<T>,
}

impl<T> Producer<T> {
    /// A buffer to fill, as it was given back, or `None` if the other end is gone.
    pub(crate) fn empty(&self) -> Option<T> {
        self.empty.recv().ok()
    }

    /// Hands a full buffer on. Where the other end is gone, nobody needs it.
    pub(crate) fn pass_on(&self, full: T) {
        let _ = self.pass_on.send(full);
    }
}

/// The consumer: where buffers are used. Dropping it says that no more are wanted.
pub(crate) struct Consumer<T> {
    full: Receiver<T>,
    give_back: Sender<T>,
}

impl<T> Consumer<T> {
    /// The next full buffer, or `None` after the last.
    pub(crate) fn full(&self) -> Option<T> {
        self.full.recv().ok()
    }

    /// Gives a buffer back.
    pub(crate) fn give_back(&self, used: T) {
        let _ = self.give_back.send(used);
    }

    /// The two directions, for two threads.
    pub(crate) fn split(self) -> (Receiver<T>, Sender<T>) {
        (self.full, self.give_back)
    }
}

/// What a thread came to, or its panic.
pub(crate) fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_go_round_in_order() {
        let (fill, used) = ring::<Vec<u8>>(2);
        thread::scope(|scope| {
            scope.spawn(move || {
                for number in 0..100 {
                    let mut buffer = fill.empty().unwrap();
                    buffer.clear();
                    buffer.push(number);
                    fill.pass_on(buffer);
                }
            });
            let mut seen = Vec::new();
            while let Some(buffer) = used.full() {
                seen.extend_from_slice(&buffer);
                used.give_back(buffer);
            }
            assert!(seen.into_iter().eq(0..100));
        });
    }

    #[test]
    fn who_fills_learns_that_no_more_are_wanted() {
        let (fill, used) = ring::<Vec<u8>>(1);
        let buffer = fill.empty().unwrap();
        drop(used);
        fill.pass_on(buffer);
        assert!(fill.empty().is_none());
    }
}

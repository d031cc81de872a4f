"""Device back ends of the referee; `arenas.device` chooses one."""
